"""Find the names declared and used in a spec: entities, levels, channels, requests, watched values, parameters.

Invariant: occurrences of the same kind, owner and text mean the same thing in every spec of the workspace.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from clew.esl.checker.channels import channel_of
from clew.esl.lower.expressions import names_in
from clew.esl.packs import registry
from clew.esl.syntax.ast import (
    Act,
    Default,
    Entity,
    EntityEvent,
    Include,
    LevelMap,
    Name,
    Node,
    Pattern,
    Setting,
    Spec,
    Statement,
    Unit,
    Watch,
    Word,
)
from clew.esl.syntax.keywords import NAMING
from clew.esl.syntax.span import Span

Kind = Literal["entity", "level", "channel", "request", "watch", "label", "parameter"]
_SETTING = re.compile(r"\$([^\W\d]\w*)")
CHANNELS = {
    "send": ("receive", "join", "handle"),
    "receive": ("send",),
    "join": ("send",),
    "handle": ("send",),
    "release": ("acquire",),
    "acquire": ("release",),
    "define": ("use",),
    "use": ("define",),
    "resource": ("resource",),
}
"""Verbs whose `as` names a channel, with the verbs of the other end."""


@dataclass(frozen=True)
class Occurrence:
    kind: Kind
    name: str
    span: Span
    """Span of the name. For an implicit name, the span of the function's own name, after which ` as NAME` would be
    inserted."""
    verb: str = ""
    """Verb of a channel."""
    owner: str = ""
    """The entity of a watched value, the level of a label, or the file of a parameter's spec."""
    given: bool = True
    """True for a declaration, False for a use."""
    written: bool = True

    def moved(self, lines: int, offset: int) -> Occurrence:
        span = self.span.moved(lines, offset)
        return Occurrence(self.kind, self.name, span, self.verb, self.owner, self.given, self.written)

    @property
    def meaning(self) -> tuple[str, str, str]:
        return (self.kind, self.owner, self.name)


def names_of(spec: Spec, file: str = "") -> Iterator[Occurrence]:
    """Yield all occurrences of names in a spec. `file` distinguishes parameters of different specs."""
    for part in spec.parts:
        for each in _names_in(part.unit):
            here = each.moved(part.lines, part.offset)
            if here.kind == "parameter":
                here = dataclasses.replace(here, owner=registry.path_of(here.owner) if here.owner else file)
            yield here


@functools.lru_cache(maxsize=8192)
def _names_in(unit: Unit) -> tuple[Occurrence, ...]:
    """Return the occurrences in a unit. Cached because an editor requests the whole file at every keystroke."""
    settings = _settings(unit.statement) if unit.has_setting else ()
    return (*_given(unit.statement), *settings)


def _given(statement: Statement) -> Iterator[Occurrence]:
    match statement:
        case Act():
            yield from _act(statement)
        case LevelMap():
            yield Occurrence("level", statement.name.text, inner(statement.name))
            for label in statement.labels:
                if not label.name.setting:
                    yield Occurrence("label", label.name.text, inner(label.name), owner=statement.name.text)
        case Default():
            yield Occurrence("parameter", statement.name.text, statement.name.span)
        case Include():
            for pack in statement.given:
                yield Occurrence("parameter", pack.name.text, pack.name.span, owner=pack.pack, given=False)
        case Entity():
            given = statement.extended is None
            yield Occurrence("entity", statement.name.text, inner(statement.name), given=given)
            for clause in statement.clauses:
                if clause.name is not None:
                    yield Occurrence("entity", clause.name.text, inner(clause.name), given=False)
            yield from _watched(statement)


def _settings(node: Any) -> Iterator[Occurrence]:
    """Yield every `$name`, without the `$`. For an `include`, the owners are packs."""
    match node:
        case tuple():
            for item in node:
                yield from _settings(item)
        case Setting(id=name) | Word(text=name, setting=True):
            yield _used(name.removeprefix("$"), node.span, 1)
        case Pattern():
            written = [
                (node.text, node.span),
                *((name.text, name.span) for each in node.filters for name in each.names),
            ]
            for text, span in written:
                for match in _SETTING.finditer(text):
                    yield _used(match[1], span, match.start(1))
        case Node():
            for each in dataclasses.fields(node):
                yield from _settings(getattr(node, each.name))


def _used(name: str, around: Span, at: int) -> Occurrence:
    start, column = around.start + at, around.column + at
    span = Span(around.line, column, around.line, column + len(name), start, start + len(name))
    return Occurrence("parameter", name, span, given=False)


def inner(word: Word) -> Span:
    """Return the span between the quotes of a quoted name."""
    span = word.span
    if span.line == span.end_line and span.end - span.start > len(word.text) + 1:
        return Span(span.line, span.column + 1, span.end_line, span.end_column - 1, span.start + 1, span.end - 1)
    return span


def _act(act: Act) -> Iterator[Occurrence]:
    kind: Kind | None = "channel" if act.verb.text in CHANNELS else "request" if act.verb.text in NAMING else None
    if kind is None:
        return
    clause = act.clause("as")
    if clause is not None and clause.name is not None:
        if clause.name.setting:
            return
        yield Occurrence(kind, clause.name.text, inner(clause.name), act.verb.text)
    elif channel_of(act) and act.verb.text != "name":
        end = act.span
        place = Span(end.end_line, end.end_column, end.end_line, end.end_column, end.end, end.end)
        yield Occurrence(kind, channel_of(act), place, act.verb.text, written=False)


def _watched(entity: Entity) -> Iterator[Occurrence]:
    watched = {member.name.text for member in entity.members if isinstance(member, Watch)}
    for member in entity.members:
        if isinstance(member, Watch):
            yield Occurrence("watch", member.name.text, inner(member.name), owner=entity.name.text)
        elif isinstance(member, EntityEvent):
            parameters = {parameter.name.text for parameter in member.parameters}
            for value in member.values:
                for name in names_in(value):
                    if name.id in watched - parameters:
                        yield Occurrence("watch", name.id, name.span, owner=entity.name.text, given=False)


def parameters_in(act: Act | EntityEvent) -> Iterator[tuple[str, Span]]:
    """Yield the names of a rule that refer to parameters of its functions, as far as its text shows."""
    values = list(act.values) if isinstance(act, EntityEvent) else [c.expression for c in act.clauses if c.expression]
    if isinstance(act, EntityEvent):
        for parameter in act.parameters:
            yield parameter.name.text, parameter.name.span
    known = {parameter.name.text for parameter in act.parameters} if isinstance(act, EntityEvent) else None
    for value in values:
        name: Name
        for name in names_in(value):
            if known is None or name.id in known:
                yield name.id, name.span
