"""Compute the outline of a spec (statements, entities with their lines, levels with their labels), foldable ranges, and
the enclosing ranges of a place."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from clew.esl.assist.cursor_context import word_at
from clew.esl.checker.channels import channel_of
from clew.esl.syntax import statement_splitter
from clew.esl.syntax.ast import (
    Act,
    Broken,
    Entity,
    EntityEvent,
    Include,
    LevelMap,
    Node,
    Scope,
    Spec,
    Statement,
    Watch,
)
from clew.esl.syntax.span import Lines, Span

Kind = Literal["include", "scope", "act", "request", "setting", "level", "label", "entity", "watch", "event"]
LONGEST = 60
"""Maximum characters of a name in the outline."""


@dataclass(frozen=True)
class Symbol:
    name: str
    detail: str
    kind: Kind
    span: Span
    name_span: Span
    children: tuple[Symbol, ...] = ()


def symbols_of(spec: Spec, text: str) -> tuple[Symbol, ...]:
    """Return the symbols by place, without statements that have syntax errors."""
    return tuple(_symbol(each, text) for each in spec.statements if not isinstance(each, Broken))


def _symbol(statement: Statement, text: str) -> Symbol:
    span = statement.span
    match statement:
        case Entity():
            children = tuple(_member(member, text) for member in statement.members)
            return Symbol(statement.name.text, statement.target.text, "entity", span, statement.name.span, children)
        case LevelMap():
            labels = tuple(
                Symbol(label.name.text, label.pattern.text, "label", label.span, label.name.span)
                for label in statement.labels
            )
            return Symbol(statement.name.text, "level", "level", span, statement.name.span, labels)
        case Act():
            kind: Kind = "request" if statement.verb.text == "request" else "act"
            words = " ".join((statement.verb.text, *(word.text for word in statement.modifiers)))
            name = channel_of(statement)
            return Symbol(f"{words} {statement.pattern.text}", name, kind, span, statement.pattern.span)
        case Scope():
            return Symbol(_line(text, span), "", "scope", span, statement.patterns[0].span)
        case Include():
            return Symbol(_line(text, span), "", "include", span, statement.packs[0].span)
    return Symbol(_line(text, span), "", "setting", span, span)


def _member(member: Any, text: str) -> Symbol:
    if isinstance(member, Watch):
        return Symbol(member.name.text, _line(text, member.value.span), "watch", member.span, member.name.span)
    if isinstance(member, EntityEvent):
        name = f"{member.moment.text} {member.method.text} -> {member.event.text}"
        return Symbol(name, "", "event", member.span, member.method.span)
    return Symbol(_line(text, member.span), "", "setting", member.span, member.span)


def _line(text: str, span: Span) -> str:
    words = " ".join(text[span.start : span.end].split())
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def folds_of(text: str) -> Iterator[tuple[int, int, bool]]:
    """Yield the first and last line (from 1) of ranges of several lines, and whether each is a comment: statements,
    comments, and consecutive comment lines."""
    lines = Lines(text)
    tokens, _ = statement_splitter.tokens_of(text, lines)
    for piece in statement_splitter.pieces_of(tokens, lines, []):
        span = lines.span(piece.start, piece.end)
        # Keep a closing brace visible.
        last = span.end_line - (piece.tokens[-1].text == "}")
        if last > span.line:
            yield span.line, last, False
    run: Span | None = None
    for match in statement_splitter.TOKEN.finditer(text):
        if match.lastgroup != "comment":
            if run is not None and (match.lastgroup != "blank" or match.group().count("\n") > 1):
                yield from _fold(run)
                run = None
            continue
        span = lines.span(match.start(), match.start() + len(match.group().rstrip()))
        alone = not text[text.rfind("\n", 0, match.start()) + 1 : match.start()].strip()
        if match.group().startswith("/*"):
            yield from _fold(span)
        elif alone:
            run = span if run is None else dataclasses.replace(run, end_line=span.end_line)
    if run is not None:
        yield from _fold(run)


def _fold(span: Span) -> Iterator[tuple[int, int, bool]]:
    if span.end_line > span.line:
        yield span.line, span.end_line, True


def around(spec: Spec, text: str, offset: int) -> tuple[tuple[int, int], ...]:
    """Return the ranges around the offset, smallest first: word, parts of a value, clause, statement, text."""
    found = {word_at(text, offset), (0, len(text))}
    for node in _nodes(spec.around(offset).statements):
        if node.span.start <= offset <= node.span.end:
            found.add((node.span.start, node.span.end))
    chain: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda one: one[1] - one[0]):
        if end > start and (not chain or (start <= chain[-1][0] and chain[-1][1] <= end)):
            chain.append((start, end))
    return tuple(chain) or ((offset, offset),)


def _nodes(value: object) -> Iterator[Node]:
    pending = [value]
    while pending:
        one = pending.pop()
        if isinstance(one, Node):
            yield one
            pending += [getattr(one, field.name) for field in dataclasses.fields(one)]
        elif isinstance(one, tuple):
            pending += one
