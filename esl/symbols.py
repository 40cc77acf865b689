"""A spec in outline: its statements, an entity with its lines, a level with its labels; what can be folded, and what a place
lies in, from the word outwards."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from clew.esl import scan
from clew.esl.ast import Act, Broken, Entity, EntityEvent, Include, LevelMap, Node, Scope, Spec, Statement, Watch
from clew.esl.channels import channel_of
from clew.esl.place import word_at
from clew.esl.span import Lines, Span

Kind = Literal["include", "scope", "act", "request", "setting", "level", "label", "entity", "watch", "event"]
LONGEST = 60
"""Characters of a name in the outline."""


@dataclass(frozen=True)
class Symbol:
    name: str
    detail: str
    kind: Kind
    span: Span
    name_span: Span
    children: tuple[Symbol, ...] = ()


def symbols_of(spec: Spec, text: str) -> tuple[Symbol, ...]:
    """By place; statements that could not be read are left out."""
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
    """First and last line (from 1) of what lies on several, and whether it is a comment: statements, comments, and lines of
    comments below each other."""
    lines = Lines(text)
    tokens, _ = scan.tokens_of(text, lines)
    for piece in scan.pieces_of(tokens, lines, []):
        span = lines.span(piece.start, piece.end)
        # A closing brace stays in sight.
        last = span.end_line - (piece.tokens[-1].text == "}")
        if last > span.line:
            yield span.line, last, False
    run: Span | None = None
    for match in scan.TOKEN.finditer(text):
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
    """What the offset lies in, the smallest first: the word, the parts of a value, the clause, the statement, the text."""
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
