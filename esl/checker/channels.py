"""Collect the functions, channels and requests that statements name, and report channels with only one end."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

from clew.esl.assist.fuzzy import Names, among
from clew.esl.syntax.ast import Act, Broken, Expression, Part, Pattern, Spec, Unit
from clew.esl.syntax.keywords import USES
from clew.esl.syntax.problem import EslProblem, warning
from clew.esl.syntax.span import Span

_PAIRS = {
    "send": (("receive", "join", "handle"), "nothing receives it", "receive"),
    "receive": (("send",), "nothing sends it", "send"),
    "join": (("send",), "nothing sends it", "send"),
    "handle": (("send",), "nothing sends it", "send"),
    "release": (("acquire",), "nothing acquires it", "acquire"),
    "acquire": (("release",), "nothing releases it", "release"),
    "define": (("use",), "nothing uses it", "use"),
    "use": (("define",), "nothing defines it", "define"),
    "resource taken": (("resource returned",), "nothing returns it", "resource returned"),
    "resource returned": (("resource taken",), "nothing takes it", "resource taken"),
}


def has_wildcard(glob: str) -> bool:
    return "*" in glob or "?" in glob


def last_name(pattern: Pattern) -> str:
    """Return the function's own name, or "" when the pattern can match several functions."""
    name = (pattern.qualname or "*").rpartition(".")[2]
    return "" if has_wildcard(name) else name


def channel_of(act: Act) -> str:
    """Return the name after `as`, else the function's own; "" if both are missing."""
    clause = act.clause("as")
    return clause.name.text if clause is not None and clause.name is not None else last_name(act.pattern)


def name_of(act: Act) -> Expression | None:
    """Return the value that names a request, if its name is a value."""
    clause = act.clause("as")
    return clause.expression if clause is not None else None


class End(NamedTuple):
    """One end of an edge."""

    verb: str
    channel: str
    span: Span
    """The span of the channel's name, or of the pattern that matches it."""
    written: bool


@functools.lru_cache(maxsize=8192)
def _end_of(unit: Unit) -> End | None:
    """Return the end that a statement makes, if any. A `handle` without a key has no declared cause."""
    act = unit.statement
    if not isinstance(act, Act) or not channel_of(act):
        return None
    verb = " ".join((act.verb.text, *(word.text for word in act.modifiers if word.text in USES)))
    if verb not in _PAIRS:
        return None
    if act.verb.text == "handle" and act.clause("key") is None:
        return None
    clause = act.clause("as")
    named = clause is not None and clause.name is not None
    span = clause.name.span if clause is not None and clause.name is not None else act.pattern.span
    return End(verb, channel_of(act), span, named)


def check_ends(spec: Spec, annotated: Callable[[], Collection[str]]) -> Iterator[EslProblem]:
    ends: dict[str, list[tuple[End, Part]]] = defaultdict(list)
    by_verb: dict[str, dict[str, None]] = defaultdict(dict)
    for part in spec.parts:
        if isinstance(part.unit.statement, Broken):
            return  # the other end may be in a statement with a syntax error
        end = _end_of(part.unit)
        if end is not None:
            ends[end.channel].append((end, part))
            by_verb[end.verb][end.channel] = None
    others: dict[tuple[str, ...], Names] = {}
    for channel, group in ends.items():
        verbs = {end.verb for end, _ in group}
        reported: set[str] = set()
        for end, part in group:
            partners, lack, remedy = _PAIRS[end.verb]
            if verbs.isdisjoint(partners) and end.verb not in reported and channel not in annotated():
                reported.add(end.verb)
                # Exclude the channel itself, which has no other end.
                if partners not in others:
                    others[partners] = among(name for partner in partners for name in by_verb[partner])
                near = others[partners].nearest(channel)
                proposal = f"; did you mean `{near}`?" if near else f"; add a `{remedy} … as {channel}`"
                what = "is no resource" if end.verb.startswith("resource") else "makes no edge"
                message = f"`{channel}` {what}: {lack}{proposal}"
                yield warning(message, part.here(end.span), near if end.written else "")
