"""What a spec says twice (a warning, if it is the same) or in two ways (an error)."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from clew.esl.ast import (
    Act,
    Budget,
    Default,
    Entity,
    Include,
    LevelMap,
    Logs,
    Part,
    Quota,
    Redact,
    Sample,
    Scope,
    Spec,
    Unit,
)
from clew.esl.channels import channel_of, name_of
from clew.esl.problem import EslProblem, error, warning
from clew.esl.span import Span


class _Same:
    """A value that is looked up often: its hash is found once."""

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
    """What is said of a name, or of functions, and where."""
    seen: dict[_Same, tuple[Part, Span]] = {}
    for part in spec.parts:
        about = _about(part.unit)
        if about is not None:
            subject, said, span, message = about
            first, where = named.setdefault(subject, (said, part))
            if where is not part and (not said or first != said):
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
    said: str
    """What must not differ; "" for what must not be said twice."""
    span: Span
    message: str
    """With what was said `first`, and its `line`."""


@functools.lru_cache(maxsize=8192)
def _about(unit: Unit) -> _About | None:
    """Kept, as `_facts` is."""
    match unit.statement:
        case Budget() | Quota() | Sample() | Logs() as only:
            word = type(only).__name__.lower()
            return _About(
                (type(only), ""), "", only.span, f"`{word}` is set in line {{line}} already; keep one of them"
            )
        case Default(name=name):
            message = f"the parameter `{name.text}` is there in line {{line}} already; remove one"
            return _About((Default, name.text), "", name.span, message)
        case LevelMap(name=name):
            message = f"the level `{_plain(name.text)}` is defined in line {{line}} already; merge the two"
            return _About((LevelMap, name.text), "", name.span, message)
        case Entity(name=name, target=target):
            message = f"`{_plain(name.text)}` is the class `{{first}}` in line {{line}}; choose another name"
            return _About((Entity, name.text), target.text, name.span, message)
        case Act() as act if act.verb.text == "request" and channel_of(act) and not name_of(act):
            message = "the same functions are the request `{first}` in line {line}; keep one name"
            return _About((Act, act.pattern.full_text), channel_of(act), act.span, message)
    return None


def _plain(name: str) -> str:
    """For a text with braces that are filled in."""
    return name.replace("{", "{{").replace("}", "}}")


@functools.lru_cache(maxsize=8192)
def _facts(unit: Unit) -> tuple[_Fact, ...]:
    """What a statement says. Kept, because an editor asks for the whole file at every keystroke."""
    match unit.statement:
        case Include(packs=packs):
            return tuple(
                _Fact(_Same(("include", word.text)), f"`{word.text}` is included", word.span) for word in packs
            )
        case Scope(patterns=patterns, excepts=excepts):
            what = "this scope is declared"
            return tuple(_Fact(_Same(("scope", each, excepts)), what, each.span) for each in patterns)
        case Act() as act:
            return (_Fact(_Same(act), "this is said", act.span),)
        case Redact(texts=texts, matching=matching):
            kind, what = "matching" if matching else "name", "this is redacted"
            return tuple(_Fact(_Same(("redact", kind, word.text)), what, word.span) for word in texts)
        case Entity(target=target, members=members):
            return tuple(_Fact(_Same((target.text, member)), "this is said", member.span) for member in members)
    return ()
