"""Decide which waits matter, and which strands a wait harms.

Thresholds: a wait that failed matters from 1 ms on, because something else was done instead. A wait that was satisfied is
normal for a lock; it matters only from 200 ms on, and if it is at least half of the work that it is a part of.
"""

from __future__ import annotations

from clew.graph.ops.diagnoses.finding import Victim
from clew.graph.ops.facts.blockers import LEAST_NS, Blockers
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Waiting, Waits
from clew.records.format.event import Kind

FAILED_NS = LEAST_NS
LONG_NS = 200_000_000
SHARE = 0.5
MOST_VICTIMS = 200


def failed(facts: Facts, wait: Waiting) -> bool:
    """Return whether a wait of at least `FAILED_NS` did not get what it waited for."""
    ends = Ends.of(facts)
    return ends.failed(wait) and ends.lasted_ns(wait) >= FAILED_NS


def failed_waits(facts: Facts) -> Waits:
    """Return the waits for which `failed` is true."""
    known: Waits | None = facts.graph.answers.get("failed waits")
    if known is None:
        ends, waits = Ends.of(facts), facts.waits
        known = waits.take(ends.failed_of(waits) & (ends.lasted_of(waits) >= FAILED_NS))
        facts.graph.answers["failed waits"] = known
    return known


def failed_or_refused(facts: Facts) -> Waits:
    """Return the waits that failed, also at once if a spec declares the pool: then the call was refused a slot."""
    ends, waits = Ends.of(facts), facts.waits
    return waits.take(ends.failed_of(waits) & ((ends.lasted_of(waits) >= FAILED_NS) | waits.is_declared))


def long_or_failed(facts: Facts) -> Waits:
    """Return the waits for which `matters` may be true."""
    ends, waits = Ends.of(facts), facts.waits
    lasted = ends.lasted_of(waits)
    return waits.take((lasted >= LONG_NS) | (ends.failed_of(waits) & (lasted >= FAILED_NS)))


def matters(facts: Facts, wait: Waiting) -> bool:
    if failed(facts, wait):
        return True
    lasted = Ends.of(facts).lasted_ns(wait)
    return lasted >= LONG_NS and lasted >= SHARE * work_ns(facts, wait)


def work_ns(facts: Facts, wait: Waiting) -> int:
    """Return the duration of the work around a wait: its outermost recorded call, else its region, in ns."""
    graph = facts.graph
    call = outermost_call(facts, wait.begin.row)
    if call >= 0:
        total = int(graph.calls.total_ns[graph.calls.find(call)])
        return total if total > 0 else facts.last_ns - graph.at("ts", call)
    region = graph.at("region", wait.begin.row)
    first, last = int(graph.regions.first[region]), int(graph.regions.last[region])
    return graph.at("ts", last) - graph.at("ts", first) if 0 <= first <= last else facts.last_ns


def outermost_call(facts: Facts, row: int) -> int:
    """Return the ENTER of the outermost call around a row that is in the row's region, -1 for none."""
    graph = facts.graph
    region, call, found = graph.at("region", row), graph.call_of(row), -1
    if call < 0 and row > graph.strand_of(row).start and graph.at("kind", row - 1) == Kind.SUSPEND:
        call = graph.call_of(row - 1)  # a task's wait is recorded after the suspensions of its calls
    for around in graph.with_callers(call):
        if graph.at("region", around) != region:
            break
        found = around
    return found


def innermost_call(facts: Facts, row: int) -> int:
    """Return the ENTER of the call that waits at a row, -1 for none."""
    graph = facts.graph
    call, first = graph.call_of(row), graph.strand_of(row).start
    while call < 0 and row > first and graph.at("kind", row - 1) == Kind.SUSPEND:
        row -= 1  # the calls of a task are suspended from the inside out
    return call if call >= 0 or graph.at("kind", row) != Kind.SUSPEND else graph.call_of(row)


def victims(facts: Facts, waits: list[Waiting]) -> tuple[Victim, ...]:
    """Return the strands that waits harm: their own, and those that waited for these strands at the same time.

    The range of a strand begins with its wait and ends with the work around it.
    """
    ends, blockers = Ends.of(facts), Blockers.of(facts)
    found: dict[int, Victim] = {}
    queue = list(waits)
    known = {wait.begin.row for wait in waits}
    while queue and len(found) < MOST_VICTIMS:
        wait = queue.pop(0)
        found.setdefault(wait.begin.row, Victim(wait.strand, wait.begin.row, _last(facts, wait)))
        begin, until = wait.begin.ns, ends.until_ns(wait)
        # Those who wait for a strand's end wait for what it does afterwards, too.
        for other in blockers.waiting_on(wait.strand, begin, until):
            if other.begin.row not in known:
                known.add(other.begin.row)
                queue.append(other)
    return tuple(found.values())


def _last(facts: Facts, wait: Waiting) -> int:
    call = outermost_call(facts, wait.begin.row)
    if call < 0:
        return -1
    try:
        return facts.graph.exit_of(call)
    except KeyError:
        return -1
