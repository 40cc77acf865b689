"""Find callbacks and tasks that schedule themselves without end and keep an event loop busy.

A chain consists of runs of one function, each scheduled by the run before it. A chain is reported if it is long, has no
pauses, and still goes on when the recording ends. A timer that runs again after a pause is no fault.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.model.graph import I64, ExecutionGraph, RegionKind, Strand
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.places import in_brackets, place
from clew.graph.ops.diagnoses.significance import victims
from clew.graph.ops.diagnoses.words import offset, seconds
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind

KIND = "endless-reschedule"
FEWEST = 100
"""The number of runs from which on a chain is long."""
LONGEST_PAUSE = 1_000_000
"""The maximum pause between two runs of a chain without pauses, in ns; the median counts."""
_LOOK = 6
"""The number of rows in which a run's first call must begin."""


@dataclass
class Chain:
    """Runs of one function, each scheduled by the run before it."""

    site: int
    """The function."""
    first: int
    """The row in which the first run begins."""
    last: int
    length: int
    """The number of runs."""
    pauses: list[int]
    """The time between each run and the next one, in ns."""


def find(facts: Facts) -> list[Finding]:
    """Return the endless chains of a run, at most one for each function and process."""
    return [_finding(facts, chain) for chain in endless_chains(facts)]


def endless_chains(facts: Facts) -> list[Chain]:
    """Return the longest endless chain of each function and process; the result is cached with the graph."""
    known: list[Chain] | None = facts.graph.answers.get("endless chains")
    if known is None:
        known = facts.graph.answers["endless chains"] = _endless_chains(facts)
    return known


def _endless_chains(facts: Facts) -> list[Chain]:
    chains: dict[tuple[int, int], Chain] = {}
    starts = _runs(facts)
    graph = facts.graph
    named: dict[int, tuple[int, Chain]] = {}
    for unit, row, source, source_unit, site in starts:
        before = named.get(source_unit)
        pause = graph.at("ts", row) - graph.at("ts", source)
        if before and before[0] == site:
            old = before[1]
            chain = Chain(site, old.first, row, old.length + 1, old.pauses)
            chain.pauses.append(pause)
        else:
            chain = Chain(site, row, row, 1, [])
        named[unit] = (site, chain)
        key = (graph.process_of(row).index, site)
        if key not in chains or chain.length > chains[key].length:
            chains[key] = chain
    return [
        chain
        for (process, _site), chain in chains.items()
        if chain.length >= FEWEST and np.median(chain.pauses) <= LONGEST_PAUSE and _goes_on(facts, process, chain)
    ]


def _runs(facts: Facts) -> list[tuple[int, int, int, int, int]]:
    """Return the first steps of callbacks and tasks by time: unit, row, the row that scheduled it, its unit, its function.

    A unit is the callback's region, or the negative number of the task's strand, less one.
    """
    graph = facts.graph
    edges = np.flatnonzero(graph.edge_channel == graph.channel_ids.get("asyncio.handle", -1))
    if len(edges) < FEWEST:
        return []
    is_task = np.array([strand.kind == "task" for strand in graph.strands], bool)
    start = np.array([strand.start for strand in graph.strands], np.int64)
    scope = graph.regions.kind == RegionKind.SCOPE
    source, target = graph.edge_src[edges], graph.edge_dst[edges]
    strand = graph.strand[target].astype(np.int64)
    callback = graph.kind[target] == Kind.SCOPE_BEGIN
    begins = callback | (is_task[strand] & (target - start[strand] <= 1))
    source, target, strand, callback = source[begins], target[begins], strand[begins], callback[begins]
    site = _functions(graph, target)
    owner, region = graph.strand[source].astype(np.int64), graph.region[source].astype(np.int64)
    unit = np.where(callback, graph.region[target].astype(np.int64), -strand - 1)
    source_unit = np.where(is_task[owner], -owner - 1, np.where(scope[region], region, 1 << 62))
    order = np.flatnonzero(site)
    order = order[np.argsort(graph.ts[target[order]], kind="stable")]
    columns = (column[order].tolist() for column in (unit, target, source, source_unit, site))
    return list(zip(*columns, strict=True))


def _functions(graph: ExecutionGraph, rows: I64) -> I64:
    """Return, for each run that begins at a row, the site of the first call that it makes, 0 if none was recorded."""
    stop = np.array([strand.stop for strand in graph.strands], np.int64)[graph.strand[rows]]
    found = np.zeros(len(rows), np.int64)
    looking = np.arange(len(rows))
    for away in range(1, _LOOK + 1):
        looking = looking[rows[looking] + away < stop[looking]]
        following = rows[looking] + away
        inside = graph.region[following] == graph.region[rows[looking]]
        looking, following = looking[inside], following[inside]
        calls = graph.kind[following] == Kind.ENTER
        found[looking[calls]] = graph.site[following[calls]]
        looking = looking[~calls]
    return found


def _goes_on(facts: Facts, process: int, chain: Chain) -> bool:
    """Return whether the chain did not stop before the recording of its process did.

    It goes on if less time passed after its last run than ten of its pauses or a hundredth of its duration took.
    """
    graph = facts.graph
    ends = [
        graph.at("ts", strand.stop - 1)
        for strand in graph.strands
        if strand.process == process and strand.stop > strand.start
    ]
    last, first = graph.at("ts", chain.last), graph.at("ts", chain.first)
    return max(ends) - last <= max(10 * max(chain.pauses), (last - first) // 100)


def _finding(facts: Facts, chain: Chain) -> Finding:
    graph = facts.graph
    begin, end = graph.at("ts", chain.first), graph.at("ts", chain.last)
    name = graph.sites[chain.site].qualname.rpartition(".<locals>.")[2]
    first_call = next(row for row in range(chain.first, chain.first + _LOOK + 1) if graph.at("kind", row) == Kind.ENTER)
    strand = graph.at("strand", chain.last)
    claims = (
        Claim(
            f"{name} has scheduled itself {chain.length:,} times since {offset(begin)}{in_brackets(place(facts, first_call))}, "
            f"the last time at {offset(end)}, without a pause.",
            (chain.first, first_call, chain.last),
        ),
        Claim(f"It still did when the recording ended, {seconds(end - begin)} later.", (chain.first, chain.last)),
    )
    own = graph.strands[strand]
    waits = [
        wait
        for wait in facts.waits.take(facts.waits.ended("never", "timeout"))
        if wait.until_ns(facts.last_ns) > begin and _runs_on(graph.strands[wait.strand], own)
    ]
    return Finding(KIND, Reason.CONTROL, claims, (*victims(facts, waits), Victim(strand, chain.last, -1)))


def _runs_on(strand: Strand, loop: Strand) -> bool:
    """Return whether a strand is a task on the thread of an event loop."""
    return strand.kind == "task" and (strand.process, strand.thread) == (loop.process, loop.thread)
