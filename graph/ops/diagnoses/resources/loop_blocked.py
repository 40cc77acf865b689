"""Find calls that kept an event loop's thread for long without giving way while other tasks were ready.

A step of a task or a callback must have taken at least 100 ms, the limit of asyncio's own debug mode. Another task or callback
must have been late by at least 50 ms: it was made ready during the step and ran after it, or its time limit passed that much
earlier. A timer does not say when it was due; so handles that were made before the step do not count, and a callback must
have run right after it. A step that never ended must have taken a second while another task of the thread waited. A step of
a function that reschedules itself without end does not count: the chain kept the loop, and one long step among thousands is
a step without a processor.

The time in which others had the processor or the GIL does not count. A claim says if it was not recorded. If the call then
took at least ten times as long as each of at least 20 others of its function, the claim is inferred: either this call did
more, or its thread had no processor. If calls of three other functions were as unusual, the machine was busy, and there is no
claim.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.model.cached import cached
from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.control.endless_reschedule import endless_chains
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.main_call import main_call
from clew.graph.ops.diagnoses.significance import victims
from clew.graph.ops.facts.facts import Facts, Waiting
from clew.graph.ops.facts.loop_steps import HANDLE, LoopStep, long_steps, open_steps, opening_row
from clew.graph.ops.facts.moments import Moments
from clew.graph.ops.timing.pauses import pauses

KIND = "loop-blocked"
STEP_NS = 100_000_000
LATE_NS = 50_000_000
SOON_NS = 5_000_000
"""A handle that was ready runs within this time after the step, or after the handles before it."""
OPEN_NS = 1_000_000_000
FEWEST_LIKE = 20
"""The fewest other calls of a function that show how long it usually takes."""
UNUSUAL = 10
"""A call is unusual if it took this many times as long as every other call of its function."""
MOST_UNUSUAL = 2
"""The most other functions with an unusual call of a machine that is not busy."""
MOST_WAITS = 10
TAKEN = 0.05
"""A claim gives the time that others had the processor from this share of the step on."""


def find(facts: Facts) -> list[Finding]:
    graph = facts.graph
    never = [finding for step in open_steps(graph, facts.last_ns, OPEN_NS) for finding in _never_ended(facts, step)]
    steps = long_steps(graph, STEP_NS)
    if not steps:
        return never
    chosen = graph.edge_channel == graph.channel_ids.get(HANDLE, -1)
    sources, targets = graph.edge_src[chosen], graph.edge_dst[chosen]
    order = np.argsort(graph.ts[sources], kind="stable")
    sources, targets = sources[order], targets[order]
    times = graph.ts[sources]
    found: dict[tuple[int, int], list[Finding]] = {}
    for step in steps:
        if _is_of_endless_chain(facts, step):
            continue
        low, high = np.searchsorted(times, [step.begin_ns, step.end_ns - LATE_NS + 1]).tolist()
        late = _ready(facts, step, sources[low:high].tolist(), targets[low:high].tolist())
        waits = _overdue(facts, step)
        finding = _finding(facts, step, late, waits) if late or waits else None
        if finding is not None:
            found.setdefault((step.strand, finding[1]), []).append(finding[0])
    return [*never, *(_longest(findings) for findings in found.values())]


def _is_of_endless_chain(facts: Facts, step: LoopStep) -> bool:
    """Return whether a step is a run of a function that reschedules itself without end on the same thread."""
    graph = facts.graph
    own, opening = graph.strands[step.strand], opening_row(graph, step.begin, step.end)
    for chain in endless_chains(facts) if opening >= 0 else []:
        runs = graph.strand_of(chain.last)
        same_thread = (runs.process, runs.thread) == (own.process, own.thread)
        if same_thread and chain.site == graph.at("site", opening) and graph.at("ts", chain.first) <= step.end_ns:
            return True
    return False


def _never_ended(facts: Facts, step: LoopStep) -> list[Finding]:
    """Return the finding about a step that did not end, if other tasks of its thread waited meanwhile."""
    graph, moments = facts.graph, Moments.of(facts)
    own = graph.strands[step.strand]
    waits = [
        wait
        for strand in graph.strands
        if strand.index != own.index and (strand.process, strand.thread) == (own.process, own.thread)
        for wait in moments.at(strand.index, step.end_ns)
        if wait.wake is None
    ]
    if not waits:
        return []
    call = graph.at("inner", step.end)
    place = f" ({words.site_place(graph.sites[graph.at('site', call)])})" if call >= 0 else ""
    lasted, since = words.seconds(step.ns), words.offset(step.begin_ns)
    kept = f"{words.who(facts, own.index)} has kept the event loop of {own.thread_name} since {since}"
    claims = (
        Claim(f"{kept}, for {lasted}, without giving way{place}.", (step.begin, step.end)),
        Claim(
            f"{words.names(facts, [wait.strand for wait in waits])} cannot run until it does.",
            tuple(row for wait in waits[:MOST_WAITS] for row in wait.rows),
        ),
    )
    return [Finding(KIND, Reason.RESOURCE, claims, victims(facts, waits))]


def _ready(facts: Facts, step: LoopStep, sources: list[int], targets: list[int]) -> list[tuple[int, int]]:
    """Return the source and target of handles that were made during a step, ready, and ran on its thread after it.

    A handle that runs a task was never a timer, so it was ready at once. Another one must have run right after the step.
    """
    graph = facts.graph
    own = graph.strands[step.strand]
    ran = []
    for source, target in zip(sources, targets, strict=True):
        strand = graph.strand_of(target)
        same_thread = strand.process == own.process and strand.thread == own.thread
        is_self = strand.index == step.strand and own.kind == "task"
        if same_thread and not is_self and graph.at("ts", target) >= step.end_ns:
            ran.append((graph.at("ts", target), source, target))
    found, reached = [], step.end_ns
    for ns, source, target in sorted(ran):
        soon = ns <= reached + SOON_NS
        if soon or _is_task(facts, target):
            found.append((source, target))
        reached = ns if soon else reached
    return found


def _overdue(facts: Facts, step: LoopStep) -> list[Waiting]:
    """Return the waits of tasks of the same thread whose time limit passed at least `LATE_NS` before the step ended."""
    graph, moments, found = facts.graph, Moments.of(facts), []
    own = graph.strands[step.strand]
    for strand in graph.strands:
        if strand.kind != "task" or (strand.process, strand.thread) != (own.process, own.thread):
            continue
        for wait in moments.at(strand.index, step.end_ns) if strand.index != step.strand else ():
            limit = wait.begin.text.limit
            if limit is None or wait.begin.ns > step.begin_ns:
                continue
            due = wait.begin.ns + int(limit * 1e9)
            if step.begin_ns <= due <= step.end_ns - LATE_NS and wait.end == "timeout":
                found.append(wait)
    return found


@dataclass(frozen=True)
class _Unusual:
    """The functions with a call that took much longer than all their others."""

    usual_ns: dict[int, tuple[int, int]]
    """By site: the number of the other calls, and the longest time of those."""

    @staticmethod
    def of(facts: Facts) -> _Unusual:
        return cached(facts.graph, "unusual calls", lambda: _Unusual._find(facts))

    @staticmethod
    def _find(facts: Facts) -> _Unusual:
        graph = facts.graph
        site, took = graph.site[graph.calls.enter].astype(np.int64), graph.calls.self_ns
        order = np.lexsort((took, site))
        site, took = site[order], took[order]
        last = np.flatnonzero(np.append(site[1:] != site[:-1], True)) if len(site) else np.zeros(0, np.int64)
        others = np.diff(np.append(-1, last)) - 1
        last, others = last[others >= FEWEST_LIKE], others[others >= FEWEST_LIKE]
        chosen = (took[last] >= LATE_NS) & (took[last] >= UNUSUAL * took[last - 1])
        return _Unusual(
            {
                int(site[at]): (int(count), int(took[at - 1]))
                for at, count in zip(last[chosen].tolist(), others[chosen].tolist(), strict=True)
            }
        )


def _finding(
    facts: Facts, step: LoopStep, late: list[tuple[int, int]], waits: list[Waiting]
) -> tuple[Finding, int] | None:
    """Return the finding about a step, and the site of its main call, -1 for none; None on a busy machine."""
    graph, paused = facts.graph, pauses(facts.graph)
    taken = _taken_ns(graph, step)
    if step.ns - taken < STEP_NS:
        return None
    row, _end = main_call(graph, step.begin + 1, step.end, step.ns)
    unusual = {} if len(paused.row) else _Unusual.of(facts).usual_ns
    mine = unusual.get(graph.at("site", row)) if row >= 0 else None
    if mine is not None and len(unusual) - 1 > MOST_UNUSUAL:
        return None
    site = graph.sites[graph.at("site", row)] if row >= 0 else None
    what = words.who(facts, step.strand) if graph.strands[step.strand].kind == "task" else "a callback"
    call = f" in {words.site_place(site)}" if site is not None and site.file else ""
    lasted, since = words.seconds(step.ns), words.offset(step.begin_ns)
    thread = graph.strands[step.strand].thread_name
    known = "" if len(paused.row) else "; how long it had a processor is not recorded"
    if taken >= TAKEN * step.ns:
        known = f"; others had the processor or the GIL for {words.seconds(taken)} of it"
    basis = ""
    if mine is not None:
        basis = (
            f"its length: each of the function's {mine[0]} other calls took at most {words.seconds(mine[1])}, and whether "
            "the thread had a processor is not recorded"
        )
        known = ""
    claims = [
        Claim(
            f"{what} kept the event loop of {thread} for {lasted} from {since} on without giving way{call}{known}.",
            tuple(dict.fromkeys((step.begin, *([row] if row >= 0 else []), step.end))),
        )
    ]
    strands = list(dict.fromkeys(graph.at("strand", target) for _source, target in late if _is_task(facts, target)))
    strands += [wait.strand for wait in waits if wait.strand not in strands]
    rows = tuple(row for pair in late for row in pair) + tuple(row for wait in waits for row in wait.rows)
    if strands:
        names = words.names(facts, strands)
        claims.append(Claim(f"Meanwhile {names} {'was' if len(strands) == 1 else 'were'} ready and had to wait.", rows))
    else:
        many = "a callback was" if len(late) == 1 else f"{len(late)} callbacks were"
        claims.append(Claim(f"Meanwhile {many} ready and had to wait.", rows))
    harmed = victims(facts, waits) + tuple(_late_victim(facts, target) for _source, target in late)
    finding = Finding(KIND, Reason.RESOURCE, tuple(claims), harmed, "inferred" if basis else "recorded", basis)
    return finding, graph.at("site", row) if row >= 0 else -1


def _taken_ns(graph: ExecutionGraph, step: LoopStep) -> int:
    """Return for how long others had the processor or the GIL during a step."""
    paused, own = pauses(graph), graph.strands[step.strand]
    begin = graph.ts[paused.row]
    inside = np.flatnonzero((begin >= step.begin_ns) & (begin < step.end_ns))
    on_thread = {
        strand.index for strand in graph.strands if (strand.process, strand.thread) == (own.process, own.thread)
    }
    strands = graph.strand[paused.row[inside]].tolist()
    return sum(
        taken for taken, strand in zip(paused.taken_ns[inside].tolist(), strands, strict=True) if strand in on_thread
    )


def _late_victim(facts: Facts, row: int) -> Victim:
    """Return a task from its late step on, or the late callback alone: the loop's thread runs other callbacks after it."""
    graph = facts.graph
    last = -1 if _is_task(facts, row) else int(graph.regions.last[graph.at("region", row)])
    return Victim(graph.at("strand", row), row, last)


def _is_task(facts: Facts, row: int) -> bool:
    return facts.graph.strand_of(row).kind == "task"


def _longest(findings: list[Finding]) -> Finding:
    """Return the first of findings about one call; the others are counted."""
    first = findings[0]
    if len(findings) == 1:
        return first
    events = tuple(event for finding in findings[1:] for event in finding.claims[0].events)
    more = Claim(f"It did so {len(findings)} times.", first.claims[0].events + events)
    harmed = tuple(victim for finding in findings for victim in finding.victims)
    return Finding(KIND, first.reason, (*first.claims, more), harmed, first.certainty, first.inferred_from)
