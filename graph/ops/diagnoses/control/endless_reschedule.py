"""Find callbacks and tasks that schedule themselves without end and keep an event loop busy.

A chain consists of runs of one function, each scheduled by the run before it. A chain is reported if it is long, has no
pauses, and still goes on when the recording ends. A timer that runs again after a pause is no fault.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.model.graph import RegionKind
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.places import in_brackets, place
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
class _Chain:
    first: int
    last: int
    length: int
    pauses: list[int]


def find(facts: Facts) -> list[Finding]:
    """Return the endless chains of a run, at most one for each function and process."""
    chains: dict[tuple[int, int], _Chain] = {}
    starts = _runs(facts)
    graph = facts.graph
    named: dict[int, tuple[int, _Chain]] = {}
    for unit, row, source, source_unit, site in starts:
        before = named.get(source_unit)
        pause = graph.at("ts", row) - graph.at("ts", source)
        if before and before[0] == site:
            old = before[1]
            chain = _Chain(old.first, row, old.length + 1, old.pauses)
            chain.pauses.append(pause)
        else:
            chain = _Chain(row, row, 1, [])
        named[unit] = (site, chain)
        key = (graph.process_of(row).index, site)
        if key not in chains or chain.length > chains[key].length:
            chains[key] = chain
    found = []
    for (process, site), chain in chains.items():
        if chain.length >= FEWEST and np.median(chain.pauses) <= LONGEST_PAUSE and _goes_on(facts, process, chain):
            found.append(_finding(facts, site, chain))
    return found


def _runs(facts: Facts) -> list[tuple[int, int, int, int, int]]:
    """Return the first steps of callbacks and tasks by time: unit, row, the row that scheduled it, its unit, its function.

    A unit is the callback's region, or the negative number of the task's strand, less one.
    """
    graph = facts.graph
    edges = np.flatnonzero(graph.edge_channel == graph.channel_ids.get("asyncio.handle", -1))
    if len(edges) < FEWEST:
        return []
    is_task = np.array([strand.kind == "task" for strand in graph.strands], bool)
    scope = graph.regions.kind == RegionKind.SCOPE
    found = []
    for source, target in zip(graph.edge_src[edges].tolist(), graph.edge_dst[edges].tolist(), strict=True):
        strand = graph.at("strand", target)
        if graph.at("kind", target) == Kind.SCOPE_BEGIN:
            unit = graph.at("region", target)
        elif is_task[strand] and target - graph.strands[strand].start <= 1:
            unit = -strand - 1
        else:
            continue
        site = _function(facts, target)
        if not site:
            continue
        owner = graph.at("strand", source)
        region = graph.at("region", source)
        source_unit = -owner - 1 if is_task[owner] else region if scope[region] else 1 << 62
        found.append((unit, target, source, source_unit, site))
    return sorted(found, key=lambda run: graph.at("ts", run[1]))


def _function(facts: Facts, row: int) -> int:
    """Return the site of the first call that a run makes, 0 if none was recorded."""
    graph = facts.graph
    strand, region = graph.at("strand", row), graph.at("region", row)
    for following in range(row + 1, min(row + 1 + _LOOK, graph.strands[strand].stop)):
        if graph.at("region", following) != region:
            break
        if graph.at("kind", following) == Kind.ENTER:
            return graph.at("site", following)
    return 0


def _goes_on(facts: Facts, process: int, chain: _Chain) -> bool:
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


def _finding(facts: Facts, site: int, chain: _Chain) -> Finding:
    graph = facts.graph
    begin, end = graph.at("ts", chain.first), graph.at("ts", chain.last)
    name = graph.sites[site].qualname.rpartition(".<locals>.")[2]
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
    process = graph.strands[strand].process
    waits = facts.waits.take(facts.waits.ended("never", "timeout"))
    victims = tuple(
        Victim(wait.strand, wait.begin.row, -1)
        for wait in waits.take((waits.process == process) & (waits.until_ns(facts.last_ns) > begin))
    )
    return Finding(KIND, Reason.CONTROL, claims, (*victims, Victim(strand, chain.last, -1)))
