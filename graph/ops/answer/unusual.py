"""Compare the call around an event with like calls that went well: which part of it was slow, and where it took another way.

Like calls are the recorded calls of one function. A call went well if it ended without an exception, has no error line, and
does not have the event's own line. Invariant: a difference is told only if no such call has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clew.graph.model.graph import I64, ExecutionGraph
from clew.graph.ops.answer import phrases
from clew.graph.ops.answer.executions import Step, step_of, step_text
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
_ERROR = 40
_STEPS = (Kind.ENTER, Kind.LOG, Kind.OUTPUT)


@dataclass(frozen=True)
class Unusual:
    """What the call around an event did, and the like calls did not."""

    claims: tuple[Claim, ...]
    basis: str


@dataclass(frozen=True)
class _Call:
    enter: int
    rows: list[int]
    """Its steps in its own strand, by time: calls, log lines and lines of output."""
    ns: int
    """Its duration, or the time until the event for the call around the event."""


def unusual(facts: Facts, event: int) -> Unusual | None:
    """Return what was unusual before an event, None if nothing was or if there are too few calls to compare with."""
    graph = facts.graph
    enters = graph.rows_of([Kind.ENTER])
    outer = _outermost_repeated(graph, event, enters)
    if outer < 0:
        return None
    steps = graph.rows_of(_STEPS)
    mine = _call(graph, outer, event, steps)
    likes = _likes(graph, outer, event, enters, steps)
    if mine is None or len(likes) < LEAST_LIKES:
        return None
    claims = _slow_claims(facts, mine, likes, event) or _branch_claims(facts, mine, likes, event)
    name = graph.sites[graph.at("site", outer)].qualname
    basis = f"a comparison with {len(likes):,} other calls of {name} in this run"
    return Unusual(tuple(claims), basis) if claims else None


def _outermost_repeated(graph: ExecutionGraph, event: int, enters: I64) -> int:
    """Return the outermost call around an event, in its strand, whose function was called often enough; -1 for none."""
    sites = graph.site[enters]
    found, call = -1, graph.at("inner", event) if graph.at("kind", event) != Kind.ENTER else event
    while call >= 0:
        if int(np.count_nonzero(sites == graph.at("site", call))) > LEAST_LIKES:
            found = call
        call = graph.enclosing_call(call)
    return found


def _call(graph: ExecutionGraph, enter: int, end: int, steps: I64) -> _Call | None:
    first, last = np.searchsorted(steps, (enter, end))
    if last - first > MOST_STEPS:
        return None
    return _Call(enter, steps[first:last].tolist(), graph.at("ts", end) - graph.at("ts", enter))


def _likes(graph: ExecutionGraph, outer: int, event: int, enters: I64, steps: I64) -> list[_Call]:
    """Return the like calls that went well; none if most of the calls have the event's own line, which is then usual."""
    asked = step_of(graph, event) if graph.at("kind", event) in _STEPS else None
    same = enters[graph.site[enters] == graph.site[outer]]
    same = same[same != outer]
    near = np.argsort(np.abs(graph.ts[same] - graph.ts[outer]), kind="stable")[:MOST_LIKES]
    found, having, ended = [], 0, 0
    for enter in sorted(same[near].tolist()):
        end = graph.exit_of(enter)
        call = _call(graph, enter, end, steps) if end >= 0 else None
        if call is None:
            continue
        ended += 1
        if asked is not None and any(step_of(graph, row) == asked for row in call.rows):
            having += 1
        elif graph.at("kind", end) == Kind.EXIT and not any(_is_error(graph, row) for row in call.rows):
            found.append(call)
    return found if 2 * having <= ended else []


def _is_error(graph: ExecutionGraph, row: int) -> bool:
    return graph.at("kind", row) == Kind.LOG and graph.key(row) >= _ERROR


# ---- A slow part ----


def _slow_claims(facts: Facts, mine: _Call, likes: list[_Call], event: int) -> list[Claim]:
    graph = facts.graph
    longest = max(like.ns for like in likes)
    typical = sorted(like.ns for like in likes)[len(likes) // 2]
    excess = mine.ns - typical
    if mine.ns < SLOWER * longest or excess < LEAST_EXCESS_NS:
        return []
    usual: dict[Step, int] = {}
    for like in likes:
        for step, ns in _longest(graph, like.rows).items():
            usual[step] = max(usual.get(step, 0), ns)
    slow = [
        (row, ns)
        for row, ns in _durations(graph, mine.rows[1:], event)
        if ns >= STEP_SLOWER * usual.get(step_of(graph, row), math.inf) and ns >= SHARE * excess
    ]
    call, name = graph.at("ts", event), graph.sites[graph.at("site", mine.enter)].qualname
    if not slow:
        return []
    # The last one is the innermost: the rows of a call come after the call's own.
    row, ns = slow[-1]
    most = usual[step_of(graph, row)]
    text = (
        f"{_named(graph, row)} took {words.seconds(ns)} of the {words.seconds(mine.ns)} since {name} was called; "
        f"in {len(likes):,} other calls of {name} it took at most {words.seconds(most)}."
    )
    return [Claim(text, (mine.enter, row, event)), *_wait_claim(facts, row, min(graph.at("ts", row) + ns, call))]


def _durations(graph: ExecutionGraph, rows: list[int], event: int = -1) -> Iterator[tuple[int, int]]:
    """Yield calls and their durations in ns; a call that is open at the event lasts until then."""
    for row in rows:
        if graph.at("kind", row) == Kind.ENTER:
            end = graph.exit_of(row)
            end = event if event >= 0 and not 0 <= end < event else end
            if end >= 0:
                yield row, graph.at("ts", end) - graph.at("ts", row)


def _longest(graph: ExecutionGraph, rows: list[int]) -> dict[Step, int]:
    found: dict[Step, int] = {}
    for row, ns in _durations(graph, rows):
        step = step_of(graph, row)
        found[step] = max(found.get(step, 0), ns)
    return found


def _wait_claim(facts: Facts, call: int, end_ns: int) -> list[Claim]:
    """Tell the wait that most of a call consisted of, and who held what it waited for."""
    graph = facts.graph
    begin_ns, strand = graph.at("ts", call), graph.at("strand", call)
    inside = [wait for wait in facts.waits_of.get(strand, ()) if begin_ns <= wait.begin.ns <= end_ns]
    wait = max(inside, key=lambda wait: wait.until_ns(end_ns) - wait.begin.ns, default=None)
    if wait is None or wait.until_ns(end_ns) - wait.begin.ns < SHARE * (end_ns - begin_ns):
        return []
    for holder in wait.begin.text.holders[:1]:
        of = facts.strand_of(wait.begin.process, holder)
        return [Claim(phrases.waited_for_holder(facts, wait, holder, of) + ".", wait.rows)]
    return [Claim(phrases.waited(facts, wait) + ".", wait.rows)]


# ---- Another way ----


def _branch_claims(facts: Facts, mine: _Call, likes: list[_Call], event: int) -> list[Claim]:
    graph = facts.graph
    known = {step for like in likes for step in (step_of(graph, row) for row in like.rows)}
    name = graph.sites[graph.at("site", mine.enter)].qualname
    last = mine.enter
    for row in mine.rows[1:]:
        if step_of(graph, row) not in known:
            begin = f"{name} went as in {len(likes):,} other calls until {_point(graph, mine, last)}"
            return [Claim(f"{begin}; then came {step_text(graph, row)}, which none of them has.", (last, row, event))]
        last = row
    following = _following(graph, step_of(graph, last), likes, {step_of(graph, row) for row in mine.rows})
    if following < 0:
        return []
    others = f"{len(likes):,} other calls"
    text = (
        f"{name} went as in {others} until {_point(graph, mine, last)}; "
        f"they continue with {step_text(graph, following)}, and this call came to this line instead."
        if last != mine.enter
        else f"This call of {name} came to this line, where {others} begin with {step_text(graph, following)}."
    )
    return [Claim(text, (mine.enter, last, event))]


def _following(graph: ExecutionGraph, step: Step, likes: list[_Call], own: set[Step]) -> int:
    """Return a row of the step that all like calls with a step have next, -1 if they differ or if `own` has it."""
    following: dict[Step, int] = {}
    for like in likes:
        steps = [step_of(graph, row) for row in like.rows]
        if step in steps:
            at = len(steps) - 1 - steps[::-1].index(step)
            following[steps[at + 1] if at + 1 < len(steps) else ("", "")] = like.rows[min(at + 1, len(steps) - 1)]
    found = list(following.items())
    return found[0][1] if len(found) == 1 and found[0][0] not in own and found[0][0] != ("", "") else -1


def _point(graph: ExecutionGraph, mine: _Call, row: int) -> str:
    return "its start" if row == mine.enter else step_text(graph, row)


def _named(graph: ExecutionGraph, row: int) -> str:
    site = graph.sites[graph.at("site", row)]
    return f"{site.qualname} ({words.base_name(site.file)}:{site.line})" if site.file else site.qualname
