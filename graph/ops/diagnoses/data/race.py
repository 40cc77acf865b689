"""Find uses of a state whose value no recorded order decides.

Two shapes are reported. A thread reads what another thread wrote, although an older value was there to read and nothing
recorded orders the write and the read. A thread or task reads a state and writes it later, and another one writes it in
between: that write is lost. Only state that a spec, an annotation or the recorded values declare is known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from clew.graph.ops.diagnoses.data.happens_before import HappensBefore
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.places import in_brackets, place
from clew.graph.ops.diagnoses.words import offset, who
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind

KIND = "race"
MOST_PAIRS = 500
"""The maximum number of pairs whose order is examined, one for each state and pair of threads or tasks."""
MOST_READERS = 64
"""The maximum number of readers of a state that are remembered at a time."""
_BASIS = (
    "missing records: no hand-over, wake-up, start or join orders the two; a plain variable or a lock that nobody waited for "
    "leaves no record"
)

Access = tuple[int, int, int, bool]
"""The time, the row and the strand of an access, and whether it is a write."""


def find(facts: Facts) -> list[Finding]:
    """Return the races of a run, at most one for each state and pair of threads or tasks."""
    states = _accesses(facts)
    if not states:
        return []
    order = HappensBefore(facts.graph)
    found: list[Finding] = []
    asked = 0
    for accesses in states:
        seen: set[tuple[int, int, bool]] = set()
        for first, write, last, lost in [*_lost_writes(facts, accesses), *_chance_reads(facts, accesses)]:
            pair = (write[2], last[2], lost)
            if pair in seen:
                continue
            asked += 1
            if asked > MOST_PAIRS:
                return found
            seen.add(pair)
            if lost:
                unordered = order.before(first[1], write[1]) is False and order.before(write[1], last[1]) is False
            else:
                unordered = order.before(write[1], last[1]) is False
            if unordered:
                found.append((_lost if lost else _chance)(facts, first, write, last))
    return found


def _accesses(facts: Facts) -> list[list[Access]]:
    """Return the accesses of each state that several strands use and at least one writes, by time."""
    graph = facts.graph
    rows = graph.rows_of([Kind.DEFINE, Kind.USE])
    rows = rows[graph.ext[rows] >= 0]
    if not len(rows):
        return []
    ext = graph.ext[rows]
    strand = graph.strand[rows].astype(np.int64)
    writes = graph.kind[rows] == Kind.DEFINE
    by_state = defaultdict(list)
    columns = (
        graph.strand_process[strand].tolist(),
        graph.extensions.channel[ext].tolist(),
        graph.extensions.key[ext].tolist(),
        graph.ts[rows].tolist(),
        rows.tolist(),
        strand.tolist(),
        writes.tolist(),
    )
    for process, channel, key, ns, row, owner, write in zip(*columns, strict=True):
        by_state[process, channel, key].append((ns, row, owner, write))
    shared = [sorted(accesses) for accesses in by_state.values() if len({access[2] for access in accesses}) > 1]
    return [accesses for accesses in shared if any(access[3] for access in accesses)]


def _lost_writes(facts: Facts, accesses: list[Access]) -> Iterator[tuple[Access, Access, Access, bool]]:
    """Yield a read, the write of another strand after it, and the reader's own write after that."""
    last_read: dict[int, Access] = {}
    foreign: dict[int, Access] = {}
    for access in accesses:
        _, _, strand, write = access
        if not write:
            last_read.pop(strand, None)
            last_read[strand] = access
            foreign.pop(strand, None)
            if len(last_read) > MOST_READERS:
                last_read.pop(next(iter(last_read)))
            continue
        if strand in foreign and strand in last_read and _same_work(facts, last_read[strand][1], access[1]):
            yield last_read[strand], foreign[strand], access, True
        foreign.pop(strand, None)
        last_read.pop(strand, None)
        for reader in last_read:
            if reader != strand:
                foreign[reader] = access


def _same_work(facts: Facts, read: int, write: int) -> bool:
    """Return whether one call contains both the read and the write of a strand, directly or in calls of its own."""
    graph = facts.graph
    around, others = (set(graph.with_callers(graph.enclosing_call(row))) for row in (read, write))
    return bool(around & others) or not (around or others)


def _chance_reads(facts: Facts, accesses: list[Access]) -> Iterator[tuple[Access, Access, Access, bool]]:
    """Yield an older write, a write of another thread, and a read of the latter."""
    strands = facts.graph.strands
    writes = [access for access in accesses if access[3]]
    for access in accesses:
        if access[3]:
            continue
        at = bisect_left(writes, access) - 1
        if at < 1:
            continue
        newest, older = writes[at], writes[at - 1]
        if newest[2] != access[2] and strands[newest[2]].thread != strands[access[2]].thread:
            yield older, newest, access, False


def _lost(facts: Facts, read: Access, write: Access, over: Access) -> Finding:
    state, task, other = _state(facts, over[1]), who(facts, over[2]), who(facts, write[2])
    claims = (
        Claim(f"{task} read {state} at {offset(read[0])}{_at(facts, read)}.", (read[1],)),
        Claim(
            f"{other} wrote {state} at {offset(write[0])}{_at(facts, write)}; nothing recorded orders the two.",
            (write[1],),
        ),
        Claim(
            f"{task} then wrote {state} at {offset(over[0])}{_at(facts, over)} without reading it again, so the value of "
            f"{other} was lost.",
            (read[1], over[1]),
        ),
    )
    victims = (Victim(over[2], over[1], -1), Victim(write[2], write[1], -1))
    return Finding(KIND, Reason.DATA, claims, victims, "inferred", _BASIS)


def _chance(facts: Facts, older: Access, write: Access, read: Access) -> Finding:
    state = _state(facts, read[1])
    claims = (
        Claim(
            f"{who(facts, read[2])} read {state} at {offset(read[0])}{_at(facts, read)} and got the value that "
            f"{who(facts, write[2])} had written at {offset(write[0])}{_at(facts, write)}.",
            (write[1], read[1]),
        ),
        Claim(
            f"Nothing recorded orders the two: a little earlier it would have read the value of {who(facts, older[2])} "
            f"of {offset(older[0])}{_at(facts, older)}.",
            (older[1], write[1], read[1]),
        ),
    )
    return Finding(KIND, Reason.DATA, claims, (Victim(read[2], read[1], -1),), "inferred", _BASIS)


def _state(facts: Facts, row: int) -> str:
    graph = facts.graph
    return " ".join(part for part in (graph.channel(row), graph.key_text(row)) if part) or "a state"


def _at(facts: Facts, access: Access) -> str:
    return in_brackets(place(facts, access[1]))
