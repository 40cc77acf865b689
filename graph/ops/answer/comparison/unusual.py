"""Compare the call around an event with like calls that went well: which part of it was slow, and where it took another way.

Like calls are the recorded calls of one function. A call went well if it ended without an exception, and logged neither an
error nor the event's own line. Invariant: no call that went well has a difference that is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clew.graph.model.event import ERROR
from clew.graph.model.graph import I64, ExecutionGraph
from clew.graph.ops.answer import phrases
from clew.graph.ops.answer.comparison.executions import Step, step_of, step_text
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind

LEAST_LIKES = 5
"""With fewer like calls, nothing is known about what is usual."""
MOST_LIKES = 300
"""Of more like calls, those nearest in time are compared."""
MOST_STEPS = 2000
"""A longer call is not compared."""
SLOWER = 1.5
"""A call was slow if it took this many times the longest like call."""
STEP_SLOWER = 3
"""A part of a slow call explains it if it took this many times its longest like part, and half of the excess."""
SHARE = 0.5
LEAST_EXCESS_NS = 10_000_000
_STEPS = (Kind.ENTER, Kind.LOG, Kind.OUTPUT)


@dataclass(frozen=True)
class Comparison:
    """What the call around an event did, and the like calls did not."""

    claims: tuple[Claim, ...]
    """Sentences about the difference; none if no difference was found."""
    basis: str
    """What was compared: `a comparison with 38 other calls of order in this run`; "" if nothing was."""
    extent: Claim
    """A sentence that tells what was compared, or why nothing was."""


@dataclass(frozen=True)
class _Call:
    graph: ExecutionGraph
    enter: int
    rows: list[int]
    """Its steps in its own strand after its ENTER, by time: calls, log lines and lines of output."""
    ns: int
    """Its duration, or the time until the event for the call around the event."""

    @property
    def steps(self) -> list[Step]:
        return [step_of(self.graph, row) for row in self.rows]


class _Calls:
    """The recorded calls of one run, with their steps."""

    def __init__(self, graph: ExecutionGraph) -> None:
        self.graph = graph
        self.enters = graph.rows_of([Kind.ENTER])
        self.steps = graph.rows_of(_STEPS)
        self.sites = graph.site[self.enters]

    def of_function(self, label: str) -> I64:
        """Return the ENTER rows of a function, given by its label."""
        numbers = [number for number, site in enumerate(self.graph.sites) if site.label == label]
        return self.enters[np.isin(self.sites, numbers)]

    def call(self, enter: int, end: int) -> _Call | None:
        """Return a call until an event, None if it has too many steps."""
        first, last = np.searchsorted(self.steps, (enter + 1, end))
        if last - first > MOST_STEPS:
            return None
        ns = self.graph.at("ts", end) - self.graph.at("ts", enter)
        return _Call(self.graph, enter, self.steps[first:last].tolist(), ns)


def compare(facts: Facts, event: int, baseline: ExecutionGraph | None = None) -> Comparison:
    """Compare the call around an event with like calls: those of the baseline, or without one those of the event's own run."""
    graph = facts.graph
    own = _Calls(graph)
    others = own if baseline is None else _Calls(baseline)
    where = "this run" if baseline is None else f"run {baseline.info.name}"
    advice = (
        f"`clew why --baseline RUN` compares it with {'a run that went well' if baseline is None else 'another run'}"
    )
    outer = _outermost_repeated(own, others, event)
    if outer < 0:
        return _not_compared(f"There are too few like calls in {where} to compare it with; {advice}.", event)
    name = graph.sites[graph.at("site", outer)].qualname
    mine = own.call(outer, event)
    if mine is None:
        return _not_compared(f"The call of {name} around it has too many steps to compare them.", outer, event)
    likes, having, ended = _likes(own, others, outer, event)
    calls = f"{'' if baseline else 'other '}calls of {name}"
    if 2 * having > ended:
        return _not_compared(f"{having:,} of {ended:,} {calls} in {where} came to it as well.", outer, event)
    if len(likes) < LEAST_LIKES:
        few = f"Fewer than {LEAST_LIKES} {calls} in {where} went well without it"
        return _not_compared(f"{few}, which are too few to compare it with; {advice}.", outer, event)
    about = f"{len(likes):,} {calls}{f' in {where}' if baseline else ''}"
    claims = _slow_claims(facts, mine, likes, event, about) or _branch_claims(facts, mine, likes, event, about)
    calls = f"{len(likes):,} {calls} in {where}"
    extent = f"It was compared with {calls} that went well."
    if _is_slow(mine, likes):
        most = words.seconds(max(like.ns for like in likes))
        extent = (
            f"No recorded part of {name} explains why it took {words.seconds(mine.ns)}: {calls} took at most {most}."
        )
    return Comparison(tuple(claims), f"a comparison with {calls}", Claim(extent, (outer, event)))


def _not_compared(why: str, *rows: int) -> Comparison:
    return Comparison((), "", Claim(why, rows))


def _outermost_repeated(own: _Calls, others: _Calls, event: int) -> int:
    """Return the outermost call around an event, in its strand, whose function was called often enough; -1 for none."""
    graph = own.graph
    found, call = -1, graph.at("inner", event) if graph.at("kind", event) != Kind.ENTER else event
    for around in graph.with_callers(call):
        if len(others.of_function(graph.sites[graph.at("site", around)].label)) > LEAST_LIKES - (others is not own):
            found = around
    return found


def _likes(own: _Calls, others: _Calls, outer: int, event: int) -> tuple[list[_Call], int, int]:
    """Return the like calls that went well without the event's own line, and how many of how many calls have it.

    If most of the calls have the line, it is usual.
    """
    graph = others.graph
    asked = step_of(own.graph, event) if own.graph.at("kind", event) in _STEPS else None
    same = others.of_function(own.graph.sites[own.graph.at("site", outer)].label)
    if others is own:
        same = same[same != outer]
        same = same[np.argsort(np.abs(graph.ts[same] - graph.ts[outer]), kind="stable")[:MOST_LIKES]]
    found, having, ended = [], 0, 0
    for enter in sorted(same[-MOST_LIKES:].tolist()):
        end = graph.exit_of(enter)
        call = others.call(enter, end) if end >= 0 else None
        if call is None:
            continue
        ended += 1
        if asked is not None and asked in call.steps:
            having += 1
        elif graph.at("kind", end) == Kind.EXIT and not any(_is_error(graph, row) for row in call.rows):
            found.append(call)
    return found, having, ended


def _is_error(graph: ExecutionGraph, row: int) -> bool:
    return graph.at("kind", row) == Kind.LOG and graph.key(row) >= ERROR


# ---- A slow part ----


def _is_slow(mine: _Call, likes: list[_Call]) -> bool:
    return mine.ns >= SLOWER * max(like.ns for like in likes) and _excess_ns(mine, likes) >= LEAST_EXCESS_NS


def _excess_ns(mine: _Call, likes: list[_Call]) -> int:
    return mine.ns - sorted(like.ns for like in likes)[len(likes) // 2]


def _slow_claims(facts: Facts, mine: _Call, likes: list[_Call], event: int, about: str) -> list[Claim]:
    """Tell the part of a slow call that explains it; if no part does, the wait that most of the call consisted of."""
    if not _is_slow(mine, likes):
        return []
    graph = facts.graph
    usual: dict[Step, int] = {}
    for like in likes:
        for step, ns in _longest(like).items():
            usual[step] = max(usual.get(step, 0), ns)
    slow = [
        (row, ns)
        for row, ns in _durations(mine, event)
        if ns >= STEP_SLOWER * usual.get(step_of(graph, row), math.inf) and ns >= SHARE * _excess_ns(mine, likes)
    ]
    # The last one is the innermost: the rows of a call come after the call's own.
    row, ns = slow[-1] if slow else (mine.enter, mine.ns)
    waited = _wait_claim(facts, row, min(graph.at("ts", row) + ns, graph.at("ts", event)))
    took = f"{_named(graph, row)} took {words.seconds(ns)}"
    if slow:
        since = f"the {words.seconds(mine.ns)} since {graph.sites[graph.at('site', mine.enter)].qualname} was called"
        text = f"{took} of {since}; in {about} it took at most {words.seconds(usual[step_of(graph, row)])}."
    elif waited:
        text = f"{took} until then; in {about} it took at most {words.seconds(max(like.ns for like in likes))}."
    else:
        return []
    return [Claim(text, (mine.enter, row, event) if slow else (row, event)), *waited]


def _durations(call: _Call, event: int = -1) -> Iterator[tuple[int, int]]:
    """Yield calls and their durations in ns; a call that is open at the event lasts until then."""
    graph = call.graph
    for row in call.rows:
        if graph.at("kind", row) == Kind.ENTER:
            end = graph.exit_of(row)
            end = event if event >= 0 and not 0 <= end < event else end
            if end >= 0:
                yield row, graph.at("ts", end) - graph.at("ts", row)


def _longest(call: _Call) -> dict[Step, int]:
    found: dict[Step, int] = {}
    for row, ns in _durations(call):
        step = step_of(call.graph, row)
        found[step] = max(found.get(step, 0), ns)
    return found


def _wait_claim(facts: Facts, call: int, end_ns: int) -> list[Claim]:
    """Tell the wait that most of a call consisted of, and who held what it waited for."""
    graph = facts.graph
    begin_ns, strand = graph.at("ts", call), graph.at("strand", call)
    waits = facts.waits_of.of(strand)
    inside = waits.take((waits.begin_ns >= begin_ns) & (waits.begin_ns <= end_ns))
    wait = max(inside, key=lambda wait: wait.until_ns(end_ns) - wait.begin.ns, default=None)
    if wait is None or wait.until_ns(end_ns) - wait.begin.ns < SHARE * (end_ns - begin_ns):
        return []
    for holder in wait.begin.text.holders[:1]:
        of = facts.strand_of(wait.begin.process, holder)
        return [Claim(phrases.waited_for_holder(facts, wait, holder, of) + ".", wait.rows)]
    return [Claim(phrases.waited(facts, wait) + ".", wait.rows)]


# ---- Another way ----


def _branch_claims(facts: Facts, mine: _Call, likes: list[_Call], event: int, about: str) -> list[Claim]:
    graph = facts.graph
    known = {step for like in likes for step in like.steps}
    name = graph.sites[graph.at("site", mine.enter)].qualname
    last = mine.enter
    begin = f"{name} went as in {about.replace(f' of {name}', '')} until"
    for row in mine.rows:
        if step_of(graph, row) not in known:
            text = f"{begin} {_point(graph, mine, last)}; then came {step_text(graph, row)}, which none of them has."
            return [Claim(text, (last, row, event))]
        last = row
    expected = _following(mine, last, likes)
    if not expected:
        return []
    text = (
        f"{begin} {_point(graph, mine, last)}; they continue with {expected}, and this call came to this line instead."
        if last != mine.enter
        else f"This call of {name} came to this line, where {about.replace(f' of {name}', '')} begin with {expected}."
    )
    return [Claim(text, (mine.enter, last, event))]


def _following(mine: _Call, last: int, likes: list[_Call]) -> str:
    """Return the step that all like calls have after the call's last one, in words; "" if they differ, or it has it."""
    following: dict[Step, str] = {}
    for like in likes:
        steps, at = like.steps, -1
        if last != mine.enter:
            step = step_of(mine.graph, last)
            if step not in steps:
                continue
            at = len(steps) - 1 - steps[::-1].index(step)
        if at + 1 == len(steps):
            return ""
        following[steps[at + 1]] = step_text(like.graph, like.rows[at + 1])
    found = list(following.items())
    return found[0][1] if len(found) == 1 and found[0][0] not in mine.steps else ""


def _point(graph: ExecutionGraph, mine: _Call, row: int) -> str:
    return "its start" if row == mine.enter else step_text(graph, row)


def _named(graph: ExecutionGraph, row: int) -> str:
    site = graph.sites[graph.at("site", row)]
    return f"{site.qualname} ({words.base_name(site.file)}:{site.line})" if site.file else site.qualname
