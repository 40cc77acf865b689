"""Convert the parser's trees to the syntax tree. Invariant: every tree that the grammar accepts has a syntax tree.

Positions count from the beginning of the statement, so that one tree serves wherever the statement moves in the file.
Recursion follows the depth of expressions, which the parser bounds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lark import Token, Tree

from clew.esl.syntax.ast import (
    Act,
    Attribute,
    Binary,
    BoolOp,
    Budget,
    Call,
    Clause,
    Compare,
    Const,
    Default,
    Entity,
    EntityEvent,
    Expression,
    Filter,
    Given,
    Include,
    Item,
    Label,
    LevelMap,
    Logs,
    Name,
    NoOutput,
    Parameter,
    Pattern,
    Quota,
    RecordWrites,
    Redact,
    Sample,
    Scope,
    Setting,
    Statement,
    TupleOf,
    Unary,
    Watch,
    Word,
)
from clew.esl.syntax.span import Span

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def unquote(token: str) -> str:
    """Return the text of a string literal: `\\n`, `\\t` and `\\r` have their meaning in Python, any other escaped
    character stands for itself."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), token[1:-1])


def number(text: str) -> int | float:
    text = text.replace("_", "")
    # A number with this many digits is not a real quantity; a float keeps it harmless.
    return int(text) if text.isdigit() and len(text) <= 30 else float(text)


def _trees(tree: Tree[Token]) -> list[Tree[Token]]:
    return [child for child in tree.children if isinstance(child, Tree)]


def _tokens(tree: Tree[Token], *types: str) -> list[Token]:
    return [child for child in tree.children if isinstance(child, Token) and child.type in types]


class Builder:
    """Builds one statement (or one line of an entity) that starts at `place`. It has one method per rule of the
    grammar."""

    def __init__(self, place: Span) -> None:
        self.place = place

    def statement(self, tree: Tree[Token]) -> Statement:
        """Build a statement; `tree` comes from the grammar's `statement`."""
        inner = _trees(tree)[0]
        made: Statement = getattr(self, f"_{inner.data}")(inner)
        return made

    def entity(self, head: Tree[Token], members: tuple[Watch | EntityEvent, ...], whole: Span) -> Entity:
        """Build an entity; `head`, the part before the braces, comes from the grammar's `entity`."""
        extended = _tokens(head, "EXTENDED")
        clauses = tuple(self._owned(child) for child in _trees(head) if child.data == "owned")
        target = Pattern(self._span(extended[0]), "", None) if extended else self._pattern(_trees(head)[0])
        word = self._word(extended[0]) if extended else None
        return Entity(whole, self._word(_tokens(head, "NAME")[0]), target, members, word, clauses)

    def member(self, tree: Tree[Token]) -> Watch | EntityEvent:
        """Build an entity line; `tree` comes from the grammar's `member`."""
        inner = _trees(tree)[0]
        children = _trees(inner)
        name = self._word(_tokens(inner, "NAME")[0])
        if inner.data == "watch":
            return Watch(self.place, name, self._expression(children[0]))
        others = ("parameter", "condition", "rate")
        of = {what: [child for child in children if child.data == what] for what in others}
        return EntityEvent(
            self.place,
            self._word(_tokens(inner, "MOMENT")[0]),
            self._pattern(children[0]),
            tuple(map(self._parameter, of["parameter"])),
            name,
            self._expressions([child for child in children[1:] if child.data not in others]),
            self._expressions(of["condition"][0].children)[0] if of["condition"] else None,
            self._rate(of["rate"][0]) if of["rate"] else None,
        )

    def _span(self, node: Tree[Token] | Token) -> Span:
        meta: Any = node if isinstance(node, Token) else node.meta
        place = self.place
        before = place.column - 1
        return Span(
            place.line + meta.line - 1,
            meta.column + (before if meta.line == 1 else 0),
            place.line + meta.end_line - 1,
            meta.end_column + (before if meta.end_line == 1 else 0),
            place.start + meta.start_pos,
            place.start + meta.end_pos,
        )

    # Statements.

    def _include(self, tree: Tree[Token]) -> Include:
        packs, given = [], []
        for child in _trees(tree):
            packs.append(self._word(_tokens(child, "NAME")[0]))
            given += [
                Given(
                    self._span(each),
                    packs[-1].text,
                    self._word(_tokens(each, "NAME")[0]),
                    self._expression(_trees(each)[0]),
                )
                for each in _trees(child)
            ]
        return Include(self.place, tuple(packs), tuple(given))

    def _default(self, tree: Tree[Token]) -> Default:
        return Default(self.place, self._word(_tokens(tree, "NAME")[0]), self._expression(_trees(tree)[0]))

    def _redact(self, tree: Tree[Token]) -> Redact:
        words = tuple(self._word(token) for token in _tokens(tree, "STRING"))
        return Redact(self.place, words, bool(_tokens(tree, "MATCHING")))

    def _scope(self, tree: Tree[Token]) -> Scope:
        return Scope(self.place, self._patterns(tree.children[0]), self._patterns(tree.children[1]))

    def _act(self, tree: Tree[Token]) -> Act:
        pattern, *clauses = _trees(tree)
        return Act(
            self.place,
            self._word(_tokens(tree, "VERB", "RESOURCE")[0]),
            tuple(self._word(token) for token in _tokens(tree, "MODIFIER", "TAKEN", "RETURNED")),
            self._pattern(pattern),
            tuple(self._clause(clause) for clause in clauses),
        )

    def _logs(self, tree: Tree[Token]) -> Logs:
        children = _trees(tree)
        return Logs(
            self.place,
            tuple(self._word(child) for child in children if child.data == "log_level"),
            tuple(pattern for child in children if child.data == "loggers" for pattern in self._patterns(child)),
            bool(_tokens(tree, "WITH_IDS")),
            tuple(self._rate(child) for child in children if child.data == "rate"),
        )

    def _budget(self, tree: Tree[Token]) -> Budget:
        return Budget(self.place, self._word(_trees(tree)[0]), bool(_tokens(tree, "PERCENT")))

    def _sample(self, tree: Tree[Token]) -> Sample:
        return Sample(self.place, self._word(_trees(tree)[0]), bool(_tokens(tree, "PERCENT")))

    def _output(self, _tree: Tree[Token]) -> NoOutput:
        return NoOutput(self.place)

    def _record(self, _tree: Tree[Token]) -> RecordWrites:
        return RecordWrites(self.place)

    def _quota(self, tree: Tree[Token]) -> Quota:
        units = _tokens(tree, "NAME")
        newest = any(token.endswith("newest") for token in _tokens(tree, "KEEP"))
        return Quota(self.place, self._word(_trees(tree)[0]), self._word(units[0]) if units else None, newest)

    def _level(self, tree: Tree[Token]) -> LevelMap:
        name = self._word(_tokens(tree, "NAME")[0])
        return LevelMap(self.place, name, tuple(self._label(child) for child in _trees(tree)))

    # Parts of statements.

    def _word(self, node: Tree[Token] | Token) -> Word:
        """Build a word from a token, or a rule around one."""
        token = node if isinstance(node, Token) else _tokens(node, "DOTTED", "STRING", "NAME", "NUMBER", "SETTING")[0]
        text = unquote(token) if token.type == "STRING" else str(token)
        return Word(self._span(token), text, token.type == "SETTING")

    def _pattern(self, tree: Tree[Token]) -> Pattern:
        name = _tokens(tree, "PATTERN")[0]
        module, colon, qualname = str(name).partition(":")
        filters = [Filter(self._span(token), self._word(token)) for token in _tokens(tree, "ASYNC")]
        filters += map(self._filter, _trees(tree))
        return Pattern(self._span(name), module, qualname if colon else None, tuple(filters))

    def _filter(self, tree: Tree[Token]) -> Filter:
        word = _tokens(tree, "DECORATED_BY", "SUBCLASSES_OF", "IN")[0]
        names = tuple(self._word(token) for token in _tokens(_trees(tree)[0], "PATTERN"))
        return Filter(self._span(tree), Word(self._span(word), " ".join(word.split())), names)

    def _patterns(self, tree: Any) -> tuple[Pattern, ...]:
        return tuple(self._pattern(child) for child in tree.children) if tree is not None else ()

    def _clause(self, tree: Tree[Token]) -> Clause:
        if len(tree.children) == 1:
            return self._rate(_trees(tree)[0])
        head, content = tree.children
        span, word = self._span(tree), self._word(head)
        if isinstance(content, Tree) and content.data == "number_of":
            return Clause(span, word, number=self._word(content))
        if isinstance(content, Tree) and content.data == "name":
            return Clause(span, word, name=self._word(content))
        return Clause(span, word, expression=self._expression(_trees(tree)[0]))

    def _rate(self, tree: Tree[Token]) -> Clause:
        head: Any = tree.children[0]
        number, unit = tree.children[1:]
        word = Word(self._span(head), "at most")
        return Clause(self._span(tree), word, number=self._word(number), unit=self._word(unit))

    def _owned(self, tree: Tree[Token]) -> Clause:
        names = _tokens(tree, "NAME")
        return Clause(
            self._span(tree),
            self._word(_tokens(tree, "UNIQUE", "CONTAINS")[0]),
            self._expression(_trees(tree)[0]),
            self._word(names[0]) if names else None,
        )

    def _label(self, tree: Tree[Token]) -> Label:
        name, pattern = _trees(tree)
        return Label(self._span(tree), self._word(name), self._pattern(pattern))

    def _parameter(self, tree: Tree[Token]) -> Parameter:
        types = _trees(tree)
        return Parameter(
            self._span(tree), self._word(_tokens(tree, "NAME")[0]), self._type(types[0]) if types else None
        )

    def _type(self, tree: Tree[Token]) -> Word:
        inner = ", ".join(self._type(child).text for child in _trees(tree))
        head = str(tree.children[0])
        return Word(self._span(tree), f"{head}[{inner}]" if inner else head)

    # Expressions.

    def _expression(self, tree: Tree[Token]) -> Expression:
        made: Expression = getattr(self, f"_{tree.data}")(tree)
        return made

    def _expressions(self, children: Sequence[Any]) -> tuple[Expression, ...]:
        return tuple(self._expression(child) for child in children if isinstance(child, Tree))

    def _or_test(self, tree: Tree[Token]) -> Expression:
        return BoolOp(self._span(tree), "or", self._expressions(tree.children))

    def _and_test(self, tree: Tree[Token]) -> Expression:
        return BoolOp(self._span(tree), "and", self._expressions(tree.children))

    def _not_test(self, tree: Tree[Token]) -> Expression:
        return Unary(self._span(tree), "not", self._expression(_trees(tree)[0]))

    def _comparison(self, tree: Tree[Token]) -> Expression:
        operators = tuple(" ".join(map(str, child.children)) for child in _trees(tree)[1::2])
        return Compare(self._span(tree), self._expressions(tree.children[0::2]), operators)

    def _sum(self, tree: Tree[Token]) -> Expression:
        children: list[Any] = tree.children
        result = self._expression(children[0])
        for operator, operand in zip(children[1::2], children[2::2], strict=True):
            right = self._expression(operand)
            first, last = result.span, right.span
            span = Span(first.line, first.column, last.end_line, last.end_column, first.start, last.end)
            result = Binary(span, str(operator), result, right)
        return result

    _product = _sum

    def _negative(self, tree: Tree[Token]) -> Expression:
        operand = self._expression(_trees(tree)[0])
        if isinstance(operand, Const) and type(operand.value) is not bool and isinstance(operand.value, int | float):
            return Const(self._span(tree), -operand.value)
        return Unary(self._span(tree), "-", operand)

    def _unsafe(self, tree: Tree[Token]) -> Expression:
        return Unary(self._span(tree), "unsafe", self._expression(_trees(tree)[0]))

    def _attribute(self, tree: Tree[Token]) -> Expression:
        return Attribute(self._span(tree), self._expression(_trees(tree)[0]), self._word(_tokens(tree, "NAME")[0]))

    def _item(self, tree: Tree[Token]) -> Expression:
        return Item(self._span(tree), *self._expressions(tree.children))

    def _call(self, tree: Tree[Token]) -> Expression:
        function, *arguments = self._expressions(tree.children)
        return Call(self._span(tree), function, tuple(arguments))

    def _variable(self, tree: Tree[Token]) -> Expression:
        return Name(self._span(tree), str(tree.children[0]))

    def _setting(self, tree: Tree[Token]) -> Expression:
        return Setting(self._span(tree), str(tree.children[0])[1:])

    def _number(self, tree: Tree[Token]) -> Expression:
        return Const(self._span(tree), number(str(tree.children[0])))

    def _string(self, tree: Tree[Token]) -> Expression:
        return Const(self._span(tree), "".join(unquote(str(token)) for token in tree.children))

    def _true(self, tree: Tree[Token]) -> Expression:
        return Const(self._span(tree), True)

    def _false(self, tree: Tree[Token]) -> Expression:
        return Const(self._span(tree), False)

    def _none(self, tree: Tree[Token]) -> Expression:
        return Const(self._span(tree), None)

    def _tuple(self, tree: Tree[Token]) -> Expression:
        return TupleOf(self._span(tree), self._expressions(tree.children))
