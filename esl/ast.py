"""The syntax tree of a spec: frozen values, each with the span it was read from. Nothing here has an opinion on meaning."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.esl.span import Span


@dataclass(frozen=True)
class Node:
    span: Span = field(compare=False)


@dataclass(frozen=True)
class Word(Node):
    """A keyword or a name; for a quoted name, the text inside the quotes."""

    text: str


# Expressions.


@dataclass(frozen=True)
class Const(Node):
    value: str | int | float | bool | None


@dataclass(frozen=True)
class Name(Node):
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
    """`-`, `not` or `unsafe`."""
    operand: Expression


@dataclass(frozen=True)
class Binary(Node):
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Compare(Node):
    """`a < b <= c` has three operands and two operators."""

    operands: tuple[Expression, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True)
class BoolOp(Node):
    operator: str
    """`and` or `or`."""
    operands: tuple[Expression, ...]


@dataclass(frozen=True)
class TupleOf(Node):
    items: tuple[Expression, ...]


Expression = Const | Name | Attribute | Item | Call | Unary | Binary | Compare | BoolOp | TupleOf


# Parts of statements.


@dataclass(frozen=True)
class Pattern(Node):
    """`module-glob` or `module-glob:qualname-glob`."""

    module: str
    qualname: str | None

    @property
    def text(self) -> str:
        return self.module if self.qualname is None else f"{self.module}:{self.qualname}"


@dataclass(frozen=True)
class Clause(Node):
    """`key EXPR`, `into EXPR`, `from EXPR`, `value EXPR`, `when EXPR`, `as NAME` or `limit NUMBER`."""

    word: Word
    expression: Expression | None = None
    name: Word | None = None
    number: Word | None = None


@dataclass(frozen=True)
class Label(Node):
    name: Word
    pattern: Pattern


@dataclass(frozen=True)
class Parameter(Node):
    name: Word
    type: Word | None
    """Written as `ast.unparse` would."""


@dataclass(frozen=True)
class Watch(Node):
    name: Word
    value: Expression


@dataclass(frozen=True)
class EntityEvent(Node):
    """`when start|finish METHOD(parameters) -> EVENT(values)`."""

    moment: Word
    method: Pattern
    parameters: tuple[Parameter, ...]
    event: Word
    values: tuple[Expression, ...]


# Statements.


@dataclass(frozen=True)
class Include(Node):
    packs: tuple[Word, ...]


@dataclass(frozen=True)
class Scope(Node):
    patterns: tuple[Pattern, ...]
    excepts: tuple[Pattern, ...]


@dataclass(frozen=True)
class Act(Node):
    """One of the nine statements that name an action at calls: send, receive, join, define, use, request, inject,
    extract, payload."""

    verb: Word
    modifiers: tuple[Word, ...]
    """Any of `start`, `finish`, `each`."""
    pattern: Pattern
    clauses: tuple[Clause, ...]

    def clause(self, word: str) -> Clause | None:
        """The first clause of that word."""
        return next((clause for clause in self.clauses if clause.word.text == word), None)

    def has(self, modifier: str) -> bool:
        return any(word.text == modifier for word in self.modifiers)


@dataclass(frozen=True)
class Logs(Node):
    levels: tuple[Word, ...]
    loggers: tuple[Pattern, ...]
    ids: bool


@dataclass(frozen=True)
class Budget(Node):
    number: Word
    percent: bool


@dataclass(frozen=True)
class Sample(Node):
    number: Word
    percent: bool


@dataclass(frozen=True)
class Quota(Node):
    number: Word
    unit: Word | None
    newest: bool
    """What is kept when it is reached."""


@dataclass(frozen=True)
class LevelMap(Node):
    name: Word
    labels: tuple[Label, ...]


@dataclass(frozen=True)
class Entity(Node):
    name: Word
    target: Pattern
    members: tuple[Watch | EntityEvent, ...]


@dataclass(frozen=True)
class Broken(Node):
    """A statement that could not be read; `keyword` is its first word, as far as there is one."""

    keyword: str


Statement = Include | Scope | Act | Logs | Budget | Quota | Sample | LevelMap | Entity | Broken


@dataclass(frozen=True)
class Spec(Node):
    statements: tuple[Statement, ...]
