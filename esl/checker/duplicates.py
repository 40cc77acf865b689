"""Report statements that a spec repeats (a warning) or contradicts (an error)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from clew.esl.checker.channels import channel_of, name_of
from clew.esl.syntax.ast import (
    Act,
    Budget,
    Default,
    Entity,
    Include,
    LevelMap,
    Logs,
    NoOutput,
    Part,
    Quota,
    RecordWrites,
    Redact,
    Sample,
    Scope,
    Spec,
    Unit,
)
from clew.esl.syntax.problem import EslProblem, error, warning
from clew.esl.syntax.span import Span


class _Same:
    """A value with a cached hash, because it is looked up often."""

    __slots__ = ("_hash", "value")

    def __init__(self, value: object) -> None:
        self.value = value
        self._hash = hash(value)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, _Same) and self._hash == other._hash and self.value == other.value)


class _Fact(NamedTuple):
    value: _Same
    what: str
    span: Span


def check_repeated(spec: Spec) -> Iterator[EslProblem]:
    named: dict[tuple[object, str], tuple[str, Part]] = {}
    """Statements about a name, or about functions, with their places."""
    seen: dict[_Same, tuple[Part, Span]] = {}
    for part in spec.parts:
        about = _about(part.unit)
        if about is not None:
            subject, content, span, message = about
            first, where = named.setdefault(subject, (content, part))
            if where is not part and (not content or first != content):
                line = where.lines + where.unit.statement.span.line
                yield error(message.format(first=first, line=line), part.here(span))
                if isinstance(part.unit.statement, Entity):
                    continue  # its lines are about another class
        for fact in _facts(part.unit):
            earlier, place = seen.setdefault(fact.value, (part, fact.span))
            if earlier is not part or place is not fact.span:
                message = f"{fact.what} in line {earlier.lines + place.line} already; remove one"
                yield warning(message, part.here(fact.span), remove=True)


class _About(NamedTuple):
    subject: tuple[object, str]
    content: str
    """The text that must not differ; "" for statements that must not be repeated."""
    span: Span
    message: str
    """The message, with placeholders for the `first` text and its `line`."""


@functools.lru_cache(maxsize=8192)
def _about(unit: Unit) -> _About | None:
    """Return what a unit declares. Cached like `_facts`."""
    match unit.statement:
        case Budget() | Quota() | Sample() | Logs() as only:
            word = type(only).__name__.lower()
            return _About((type(only), ""), "", only.span, f"`{word}` is already set in line {{line}}; keep only one")
        case Default(name=name):
            message = f"the parameter `{name.text}` is already declared in line {{line}}; remove one"
            return _About((Default, name.text), "", name.span, message)
        case LevelMap(name=name):
            message = f"the level `{_plain(name.text)}` is already defined in line {{line}}; merge them"
            return _About((LevelMap, name.text), "", name.span, message)
        case Entity(name=name, target=target):
            message = f"`{_plain(name.text)}` is the class `{{first}}` in line {{line}}; choose another name"
            return _About((Entity, name.text), target.text, name.span, message)
        case Act() as act if act.verb.text == "request" and channel_of(act) and not name_of(act):
            message = "the same functions are already the request `{first}` in line {line}; keep only one name"
            return _About((Act, act.pattern.full_text), channel_of(act), act.span, message)
    return None


def _plain(name: str) -> str:
    """Escape braces for a format string."""
    return name.replace("{", "{{").replace("}", "}}")


@functools.lru_cache(maxsize=8192)
def _facts(unit: Unit) -> tuple[_Fact, ...]:
    """Return the facts of a statement. Cached because an editor checks the whole file at every keystroke."""
    match unit.statement:
        case NoOutput(span=span):
            return (_Fact(_Same(("output", "none")), "this is set", span),)
        case RecordWrites(span=span):
            return (_Fact(_Same(("record", "writes")), "this is set", span),)
        case Include(packs=packs):
            return tuple(
                _Fact(_Same(("include", word.text)), f"`{word.text}` is included", word.span) for word in packs
            )
        case Scope(patterns=patterns, excepts=excepts):
            what = "this scope is declared"
            return tuple(_Fact(_Same(("scope", each, excepts)), what, each.span) for each in patterns)
        case Act() as act:
            return (_Fact(_Same(act), "this is declared", act.span),)
        case Redact(texts=texts, matching=matching):
            kind, what = "matching" if matching else "name", "this is redacted"
            return tuple(_Fact(_Same(("redact", kind, word.text)), what, word.span) for word in texts)
        case Entity(target=target, members=members):
            return tuple(_Fact(_Same((target.text, member)), "this is declared", member.span) for member in members)
    return ()
