"""Turns the parser's trees into the syntax tree. Invariant: a tree that the grammar accepts always has a syntax tree.

Recursion follows the depth of expressions, which the parser has bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from lark import Token, Tree

from clew.esl.ast import (
    Act,
    Attribute,
    Binary,
    BoolOp,
    Budget,
    Call,
    Clause,
    Compare,
    Const,
    Entity,
    EntityEvent,
    Expression,
    Include,
    Item,
    Label,
    LevelMap,
    Logs,
    Name,
    Parameter,
    Pattern,
    Quota,
    Scope,
    Statement,
    TupleOf,
    Unary,
    Watch,
    Word,
)
from clew.esl.span import Span


def span_of(node: Tree[Token] | Token) -> Span:
    place: Any = node if isinstance(node, Token) else node.meta
    return Span(place.line, place.column, place.end_line, place.end_column, place.start_pos, place.end_pos)


def _between(first: Span, last: Span) -> Span:
    return Span(first.line, first.column, last.end_line, last.end_column, first.start, last.end)


def word(node: Tree[Token] | Token) -> Word:
    """A token, or the rule `name` around one."""
    token = node if isinstance(node, Token) else node.children[0]
    assert isinstance(token, Token)
    return Word(span_of(token), unquote(token) if token.type == "STRING" else str(token))


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def unquote(token: str) -> str:
    """The text of a string literal: `\\n`, `\\t` and `\\r` mean what they mean in Python, any other escaped character
    itself."""
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), token[1:-1])


def number(text: str) -> int | float:
    text = text.replace("_", "")
    if text.isdigit() and len(text) <= 30:
        return int(text)
    return float(text)


# Expressions: one builder per rule of the grammar.


def expression(tree: Tree[Token]) -> Expression:
    return _EXPRESSIONS[str(tree.data)](tree, span_of(tree))


def _expressions(children: Sequence[Any]) -> tuple[Expression, ...]:
    return tuple(expression(child) for child in children if isinstance(child, Tree))


def _left_to_right(tree: Tree[Token], span: Span) -> Expression:
    children: list[Any] = tree.children
    result = expression(children[0])
    for operator, operand in zip(children[1::2], children[2::2], strict=True):
        right = expression(operand)
        result = Binary(_between(result.span, right.span), str(operator), result, right)
    return result


def _comparison(tree: Tree[Token], span: Span) -> Expression:
    children: list[Any] = tree.children
    operators = tuple(" ".join(str(token) for token in child.children) for child in children[1::2])
    return Compare(span, _expressions(children[0::2]), operators)


def _unary(operator: str) -> Callable[[Tree[Token], Span], Expression]:
    def build(tree: Tree[Token], span: Span) -> Expression:
        operand = expression(_trees(tree)[0])
        if operator == "-" and isinstance(operand, Const) and type(operand.value) in (int, float):
            return Const(span, -operand.value)  # type: ignore[operator]  # the type is checked above
        return Unary(span, operator, operand)

    return build


def _bool(operator: str) -> Callable[[Tree[Token], Span], Expression]:
    return lambda tree, span: BoolOp(span, operator, _expressions(tree.children))


def _const(value: bool | None) -> Callable[[Tree[Token], Span], Expression]:
    return lambda tree, span: Const(span, value)


def _trees(tree: Tree[Token]) -> list[Tree[Token]]:
    return [child for child in tree.children if isinstance(child, Tree)]


def _tokens(tree: Tree[Token], *types: str) -> list[Token]:
    return [child for child in tree.children if isinstance(child, Token) and child.type in types]


_EXPRESSIONS: dict[str, Callable[[Tree[Token], Span], Expression]] = {
    "or_test": _bool("or"),
    "and_test": _bool("and"),
    "not_test": _unary("not"),
    "comparison": _comparison,
    "sum": _left_to_right,
    "product": _left_to_right,
    "negative": _unary("-"),
    "unsafe": _unary("unsafe"),
    "attribute": lambda tree, span: Attribute(span, expression(_trees(tree)[0]), word(_tokens(tree, "NAME")[0])),
    "item": lambda tree, span: Item(span, *_expressions(tree.children)),
    "call": lambda tree, span: Call(span, expression(_trees(tree)[0]), _expressions(tree.children)[1:]),
    "variable": lambda tree, span: Name(span, str(tree.children[0])),
    "number": lambda tree, span: Const(span, number(str(tree.children[0]))),
    "string": lambda tree, span: Const(span, "".join(unquote(str(token)) for token in tree.children)),
    "true": _const(True),
    "false": _const(False),
    "none": _const(None),
    "tuple": lambda tree, span: TupleOf(span, _expressions(tree.children)),
}


# Parts of statements.


def _pattern(tree: Tree[Token]) -> Pattern:
    module, colon, qualname = str(tree.children[0]).partition(":")
    return Pattern(span_of(tree), module, qualname if colon else None)


def _patterns(tree: Any) -> tuple[Pattern, ...]:
    return tuple(_pattern(child) for child in tree.children) if tree is not None else ()


def _clause(tree: Tree[Token]) -> Clause:
    head, content = tree.children
    span = span_of(tree)
    if isinstance(content, Token):
        return Clause(span, word(head), number=word(content))
    if content.data == "name":
        return Clause(span, word(head), name=word(content))
    return Clause(span, word(head), expression=expression(content))


def _parameter(tree: Tree[Token]) -> Parameter:
    name, annotation = tree.children
    return Parameter(span_of(tree), word(name), _type(annotation) if isinstance(annotation, Tree) else None)


def _type(tree: Tree[Token]) -> Word:
    head, *arguments = tree.children
    inner = ",".join(_type(child).text for child in arguments if isinstance(child, Tree))
    return Word(span_of(tree), f"{head}[{inner}]" if inner else str(head))


# Statements.


def statement(tree: Tree[Token], span: Span) -> Statement:
    """`tree` is what the grammar's `statement` gave, `span` the statement's without its `;`."""
    inner = tree.children[0]
    assert isinstance(inner, Tree)
    return _STATEMENTS[str(inner.data)](inner, span)


def _act(tree: Tree[Token], span: Span) -> Statement:
    children = _trees(tree)
    return Act(
        span,
        word(_tokens(tree, "VERB")[0]),
        tuple(word(token) for token in _tokens(tree, "MODIFIER")),
        _pattern(children[0]),
        tuple(_clause(child) for child in children[1:]),
    )


def _logs(tree: Tree[Token], span: Span) -> Statement:
    children = _trees(tree)
    return Logs(
        span,
        tuple(word(child) for child in children if child.data == "log_level"),
        tuple(pattern for child in children if child.data == "patterns" for pattern in _patterns(child)),
        bool(_tokens(tree, "WITH_IDS")),
    )


def _quota(tree: Tree[Token], span: Span) -> Statement:
    units = _tokens(tree, "NAME")
    return Quota(span, word(_tokens(tree, "NUMBER")[0]), word(units[0]) if units else None)


def _label(tree: Tree[Token]) -> Label:
    name, pattern = _trees(tree)
    return Label(span_of(tree), word(name), _pattern(pattern))


_STATEMENTS: dict[str, Callable[[Tree[Token], Span], Statement]] = {
    "include": lambda tree, span: Include(span, tuple(word(token) for token in _tokens(tree, "NAME"))),
    "scope": lambda tree, span: Scope(span, _patterns(tree.children[0]), _patterns(tree.children[1])),
    "act": _act,
    "logs": _logs,
    "budget": lambda tree, span: Budget(span, word(_tokens(tree, "NUMBER")[0]), bool(_tokens(tree, "PERCENT"))),
    "quota": _quota,
    "level": lambda tree, span: LevelMap(
        span, word(_tokens(tree, "NAME")[0]), tuple(_label(child) for child in _trees(tree))
    ),
}


def entity(head: Tree[Token], members: tuple[Watch | EntityEvent, ...], span: Span) -> Entity:
    return Entity(span, word(_tokens(head, "NAME")[0]), _pattern(_trees(head)[0]), members)


def member(tree: Tree[Token], span: Span) -> Watch | EntityEvent:
    inner = tree.children[0]
    assert isinstance(inner, Tree)
    if inner.data == "watch":
        return Watch(span, word(_tokens(inner, "NAME")[0]), expression(_trees(inner)[0]))
    children = _trees(inner)
    return EntityEvent(
        span,
        word(_tokens(inner, "MOMENT")[0]),
        _pattern(children[0]),
        tuple(_parameter(child) for child in children if child.data == "parameter"),
        word(_tokens(inner, "NAME")[0]),
        _expressions([child for child in children[1:] if child.data != "parameter"]),
    )
