"""Define the syntax tree of a spec: frozen values with their source spans, without any semantics."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple, TypeVar, cast

from clew.esl.syntax.span import Span


@dataclass(frozen=True)
class Node:
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Word(Node):
    """A keyword or a name; for a quoted name, the text inside the quotes."""

    text: str
    setting: bool = False
    """True for `$name`, the value of a parameter of the spec."""


# Expressions.


@dataclass(frozen=True)
class Const(Node):
    value: str | int | float | bool | None


@dataclass(frozen=True)
class Name(Node):
    id: str


@dataclass(frozen=True)
class Setting(Node):
    """`$name`: the value of a parameter of the spec."""

    id: str


@dataclass(frozen=True)
class Attribute(Node):
    object: Expression
    name: Word


@dataclass(frozen=True)
class Item(Node):
    object: Expression
    index: Expression


@dataclass(frozen=True)
class Call(Node):
    function: Expression
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Unary(Node):
    operator: str
    """One of `-`, `not` or `unsafe`."""
    operand: Expression


@dataclass(frozen=True)
class Binary(Node):
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Compare(Node):
    """A comparison; `a < b <= c` has three operands and two operators."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True)
class BoolOp(Node):
    operator: str
    """One of `and` or `or`."""
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class TupleOf(Node):
    items: tuple[Expression, ...]


Expression = Const | Name | Setting | Attribute | Item | Call | Unary | Binary | Compare | BoolOp | TupleOf


# Parts of statements.


@dataclass(frozen=True)
class Filter(Node):
    """A filter: `async`, `decorated by NAMES`, `in subclasses of CLASSES` or `in CLASSES or subclasses`."""

    word: Word
    """First words of the filter, separated by single spaces."""
    names: tuple[Word, ...] = ()

    @property
    def text(self) -> str:
        names = ", ".join(name.text for name in self.names)
        return f"{self.word.text} {names}".strip() + (" or subclasses" if self.word.text == "in" else "")


@dataclass(frozen=True)
class Pattern(Node):
    """`module-glob` or `module-glob:qualname-glob`, with filters of the matching functions. The span is that of the
    name alone."""

    module: str
    qualname: str | None
    filters: tuple[Filter, ...] = ()

    @property
    def text(self) -> str:
        """Return the name alone."""
        return self.module if self.qualname is None else f"{self.module}:{self.qualname}"

    @property
    def full_text(self) -> str:
        first = [each.text for each in self.filters if each.word.text == "async"]
        return " ".join([*first, self.text, *(each.text for each in self.filters if each.word.text != "async")])


@dataclass(frozen=True)
class Clause(Node):
    """A clause: `key EXPR`, `into EXPR`, `from EXPR`, `value EXPR`, `when EXPR`, `as NAME`, `as (EXPR)`, `limit
    NUMBER`, `at most NUMBER/UNIT`; for an entity, `unique by EXPR`, `contains NAME by EXPR`."""

    word: Word
    expression: Expression | None = None
    name: Word | None = None
    number: Word | None = None
    unit: Word | None = None


@dataclass(frozen=True)
class Given(Node):
    """`NAME = VALUE` for an included pack. The pack's name precedes its span."""

    pack: str
    name: Word
    value: Expression


@dataclass(frozen=True)
class Label(Node):
    name: Word
    pattern: Pattern


@dataclass(frozen=True)
class Parameter(Node):
    name: Word
    type: Word | None
    """Annotation as `ast.unparse` would write it."""


@dataclass(frozen=True)
class Watch(Node):
    name: Word
    value: Expression


@dataclass(frozen=True)
class EntityEvent(Node):
    """An entity line: `when start|finish METHOD(parameters) [on CONDITION] -> EVENT(values) [at most NUMBER/UNIT]`."""

    moment: Word
    method: Pattern
    parameters: tuple[Parameter, ...]
    event: Word
    values: tuple[Expression, ...]
    condition: Expression | None = None
    rate: Clause | None = None


# Statements.


@dataclass(frozen=True)
class Include(Node):
    packs: tuple[Word, ...]
    given: tuple[Given, ...] = ()


@dataclass(frozen=True)
class Default(Node):
    """A declaration: `parameter NAME = VALUE`."""

    name: Word
    value: Expression


@dataclass(frozen=True)
class Redact(Node):
    texts: tuple[Word, ...]
    """Globs of names, or with `matching`, regular expressions."""
    matching: bool


@dataclass(frozen=True)
class Scope(Node):
    patterns: tuple[Pattern, ...]
    excepts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Act(Node):
    """A statement of `words.CLAUSES`, which names an action at calls."""

    verb: Word
    modifiers: tuple[Word, ...]
    """Any of `start`, `finish`, `each`; of a `resource`, `taken` or `returned`."""
    pattern: Pattern
    clauses: tuple[Clause, ...]

    def clause(self, word: str) -> Clause | None:
        """Return the first clause of that word."""
        return next((clause for clause in self.clauses if clause.word.text == word), None)

    def has(self, modifier: str) -> bool:
        return any(word.text == modifier for word in self.modifiers)


@dataclass(frozen=True)
class Logs(Node):
    levels: tuple[Word, ...]
    loggers: tuple[Pattern, ...]
    ids: bool
    rates: tuple[Clause, ...] = ()


@dataclass(frozen=True)
class Budget(Node):
    number: Word
    percent: bool


@dataclass(frozen=True)
class Sample(Node):
    number: Word
    percent: bool


@dataclass(frozen=True)
class NoOutput(Node):
    """`output none`: the lines that the program writes to stdout and stderr are not recorded."""


@dataclass(frozen=True)
class RecordWrites(Node):
    """`record writes`: what the functions of the scopes write to attributes, containers and variables is recorded."""


@dataclass(frozen=True)
class Quota(Node):
    number: Word
    unit: Word | None
    newest: bool
    """True to keep the newest events when the quota is reached."""


@dataclass(frozen=True)
class LevelMap(Node):
    name: Word
    labels: tuple[Label, ...]


@dataclass(frozen=True)
class Entity(Node):
    name: Word
    target: Pattern
    """The class; empty for an `extended` entity, whose own block has it."""
    members: tuple[Watch | EntityEvent, ...]
    extended: Word | None = None
    clauses: tuple[Clause, ...] = ()
    """The clauses `unique by …` and `contains … by …`."""


@dataclass(frozen=True)
class Broken(Node):
    """A statement with a syntax error; `keyword` is its first word, if any."""

    keyword: str


Statement = (
    Include
    | Scope
    | Act
    | Logs
    | Redact
    | Budget
    | Quota
    | Sample
    | NoOutput
    | RecordWrites
    | Default
    | LevelMap
    | Entity
    | Broken
)


# Specs.


@dataclass(frozen=True, eq=False, slots=True)
class Unit:
    """A statement independent of its position: its spans count from the beginning of its block (see `blocks`). An
    unchanged statement gives the same object again, so that results can be cached on it."""

    statement: Statement
    text: str
    """Text of its block, as read."""

    @property
    def has_setting(self) -> bool:
        return "$" in self.text[self.statement.span.start : self.statement.span.end]


class Part(NamedTuple):
    """A unit at its position."""

    unit: Unit
    lines: int
    """Lines before its block."""
    offset: int
    """Offset of its block in the text."""

    def here(self, node: AnyNode) -> AnyNode:
        """Return a node of the unit with spans of the text."""
        return moved(node, self.lines, self.offset)


@dataclass(frozen=True, eq=False)
class Spec:
    """A spec; specs are equal when their statements are."""

    span: Span
    parts: tuple[Part, ...]

    @functools.cached_property
    def statements(self) -> tuple[Statement, ...]:
        """Return the statements with spans of the text. Code that visits all statements after every keystroke uses
        `parts`."""
        return tuple(part.here(part.unit.statement) for part in self.parts)

    def around(self, offset: int) -> Spec:
        """Return a spec of only the statements at an offset."""
        found = []
        for part in self.parts:
            span = part.unit.statement.span
            if part.offset + span.start <= offset <= part.offset + span.end:
                found.append(part)
        return Spec(self.span, tuple(found))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Spec) or len(self.parts) != len(other.parts):
            return False
        pairs = zip(self.parts, other.parts, strict=True)
        return all(one.unit is another.unit or one.unit.statement == another.unit.statement for one, another in pairs)

    def __hash__(self) -> int:
        return hash(tuple(part.unit.statement for part in self.parts))


AnyNode = TypeVar("AnyNode")


def moved(node: AnyNode, lines: int, offset: int) -> AnyNode:
    """Move all spans of a node, or a tuple of nodes; other values stay unchanged."""
    if not offset:
        return node
    made: Any = node
    if isinstance(node, Span):
        made = node.moved(lines, offset)
    elif isinstance(node, tuple):
        made = tuple(moved(item, lines, offset) for item in node)
    elif isinstance(node, Node):
        kind: Any = type(node)
        made = kind(*(moved(getattr(node, name), lines, offset) for name in _fields(kind)))
    return cast(AnyNode, made)


@functools.cache
def _fields(kind: type[Any]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))
