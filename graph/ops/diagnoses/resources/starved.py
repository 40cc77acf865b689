"""Find tasks that were ready and had to wait since many short steps of one function kept their event loop busy.

`loop-blocked` tells of a single long call. Here the short steps of one function, in one task or in many, take at least half of
the time between a wake-up and the step that it caused. Such a step must be late by at least 100 ms. Its task must run another
function, since tasks of one kind that take turns are ordinary, and it must not have started the busy steps itself.
Only the steps of tasks count as late, since the handle of a timer does not say when it was due.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from clew.graph.ops.causes.state_waits import edges_into
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.loop_steps import HANDLE, LoopStep, long_steps, opening_row
from clew.records.format.event import Kind

KIND = "starved"
LATE_NS = 100_000_000
LONGEST_NS = 100_000_000
"""A longer step is not short: it is a call that blocks the loop, or its thread got no processor."""
FEWEST = 5
"""The fewest steps of the function that kept the loop busy."""
SHARE = 0.5
LONGEST_SHARE = 0.25
"""A step with a larger share of the busy time is one long call, perhaps of a thread that the system interrupted."""
MOST_LATE = 200
"""The most late steps that are examined, the latest ones."""
MOST_STEPS = 2000
"""The most steps of one late task's time that are read, from the last one back."""
MOST_EVIDENCE = 200
"""The most steps that a finding names."""


@dataclass(frozen=True)
class _Late:
    """A step that began long after its handle was made."""

    source: int
    target: int
    begin_ns: int
    end_ns: int


@dataclass
class _Thread:
    """The steps of one loop's thread, by time."""

    steps: list[LoopStep]
    begins: list[int]
    sums: list[int]
    """The duration of all steps before each one."""


@dataclass(frozen=True)
class _Busy:
    """The function that took most of a late task's time."""

    site: int
    steps: list[LoopStep]


def find(facts: Facts) -> list[Finding]:
    late = _late(facts)
    if not late:
        return []
    threads = _threads(facts)
    found: dict[tuple[int, int, int], list[tuple[_Late, _Busy]]] = defaultdict(list)
    for each in late:
        strand = facts.graph.strand_of(each.target)
        thread = threads.get((strand.process, strand.thread))
        busy = _busy(facts, thread, each) if thread else None
        if busy is not None:
            found[strand.process, strand.thread, busy.site].append((each, busy))
    return [_finding(facts, cases) for cases in found.values()]


def _late(facts: Facts) -> list[_Late]:
    """Return the steps of tasks that began at least `LATE_NS` after they were ready."""
    graph = facts.graph
    chosen = np.flatnonzero(graph.edge_channel == graph.channel_ids.get(HANDLE, -1))
    sources, targets = graph.edge_src[chosen], graph.edge_dst[chosen]
    is_late = graph.ts[targets] - graph.ts[sources] >= LATE_NS
    found = []
    for source, target in zip(sources[is_late].tolist(), targets[is_late].tolist(), strict=True):
        strand, own = graph.strand_of(target), graph.strand_of(source)
        began = target > strand.start and graph.at("kind", target - 1) == Kind.STEP_BEGIN
        if strand.kind == "task" and began and own.process == strand.process:
            found.append(_Late(source, target, graph.at("ts", source), graph.at("ts", target)))
    return sorted(found, key=lambda each: each.begin_ns - each.end_ns)[:MOST_LATE]


def _threads(facts: Facts) -> dict[tuple[int, int], _Thread]:
    graph = facts.graph
    own: dict[tuple[int, int], list[LoopStep]] = defaultdict(list)
    for step in long_steps(graph, 0):
        strand = graph.strands[step.strand]
        own[strand.process, strand.thread].append(step)
    return {
        thread: _Thread(steps, [step.begin_ns for step in steps], [0, *accumulate(step.ns for step in steps)])
        for thread, steps in own.items()
    }


def _busy(facts: Facts, thread: _Thread, late: _Late) -> _Busy | None:
    """Return the function whose short steps took most of the time in which a task was ready, None if there is none."""
    first, last = bisect_left(thread.begins, late.begin_ns), bisect_right(thread.begins, late.end_ns) - 1
    steps = thread.steps[max(first, last - MOST_STEPS) : last]
    total = late.end_ns - late.begin_ns
    if len(steps) < FEWEST or sum(step.ns for step in steps) < SHARE * total:
        return None
    taken: Counter[int] = Counter()
    sites = [_function(facts, step) for step in steps]
    for site, step in zip(sites, steps, strict=True):
        taken[site] += step.ns if step.ns < LONGEST_NS else 0
    taken.pop(-1, None)
    if not taken:
        return None
    ((site, ns),) = taken.most_common(1)
    own = [step for each, step in zip(sites, steps, strict=True) if each == site]
    short = [step.ns for step in own if step.ns < LONGEST_NS]
    if ns < SHARE * total or len(short) < FEWEST or max(short) > LONGEST_SHARE * ns:
        return None
    strand = facts.graph.strand_of(late.target)
    if site == _outermost(facts, strand.start, strand.stop) or _has_started(facts, strand.index, own):
        return None
    return _Busy(site, own)


def _has_started(facts: Facts, strand: int, steps: list[LoopStep]) -> bool:
    """Return whether a strand started most of the tasks and callbacks of steps."""
    graph = facts.graph
    starters = []
    for step in steps:
        own = graph.strands[step.strand]
        first = own.start if own.kind == "task" else step.begin
        into = edges_into(graph, int(graph.region[first]), min(first + 1, step.end))
        starters += [graph.at("strand", int(graph.edge_src[edge])) for edge in into[:1]]
    return starters.count(strand) > SHARE * len(steps)


def _function(facts: Facts, step: LoopStep) -> int:
    return _outermost(facts, step.begin, step.end)


def _outermost(facts: Facts, start: int, stop: int) -> int:
    """Return the site of the first recorded function that rows enter or continue, -1 if there is none."""
    row = opening_row(facts.graph, start, stop)
    return facts.graph.at("site", row) if row >= 0 else -1


def _finding(facts: Facts, cases: list[tuple[_Late, _Busy]]) -> Finding:
    graph = facts.graph
    late, busy = max(cases, key=lambda case: case[0].end_ns - case[0].begin_ns)
    strand = graph.strand_of(late.target)
    lasted = words.seconds(late.end_ns - late.begin_ns)
    steps = busy.steps[-MOST_EVIDENCE:]
    tasks = len({step.strand for step in busy.steps if graph.strands[step.strand].kind == "task"})
    among = f" of {tasks} tasks" if tasks > 1 else f" of {words.who(facts, busy.steps[0].strand)}" if tasks else ""
    place = words.site_place(graph.sites[busy.site])
    total, most = sum(step.ns for step in busy.steps), max(step.ns for step in busy.steps)
    claims = [
        Claim(
            f"{words.who(facts, strand.index)} was ready at {words.offset(late.begin_ns)} and ran {lasted} later.",
            (late.source, late.target),
        ),
        Claim(
            f"Meanwhile {place} took {words.seconds(total)} of the event loop of {strand.thread_name} in "
            f"{len(busy.steps)} steps{among}, none longer than {words.seconds(most)}.",
            tuple(row for step in steps for row in (opening_row(facts.graph, step.begin, step.end), step.end)),
        ),
    ]
    others = [case[0] for case in cases if graph.at("strand", case[0].target) != strand.index]
    if others:
        names = list(dict.fromkeys(graph.at("strand", each.target) for each in others))
        claims.append(
            Claim(
                f"{words.names(facts, names)} had to wait, too.",
                tuple(row for each in others[:MOST_EVIDENCE] for row in (each.source, each.target)),
            )
        )
    harmed = tuple(Victim(graph.at("strand", each.target), each.target, -1) for each, _busy in cases)
    return Finding(KIND, Reason.RESOURCE, tuple(claims), harmed)
