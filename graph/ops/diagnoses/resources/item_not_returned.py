"""Find items of a queue that serves as a pool, which a call took and did not put back before it ended.

A queue serves as a pool if most items that one function takes from it come back. The records say which: an item that is put
back is marked. A wait for the queue must have failed while every item was out, and a call that had taken one must have ended.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.significance import failed_waits, innermost_call, victims
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Waiting
from clew.graph.ops.facts.moments import Moments
from clew.records.format.event import FLAG_BACK, Kind

KIND = "item-not-returned"
_CHANNELS = ("queue", "asyncio.queue")
_BASIS = "which items came back to the queue"
LEAST_RETURNED = 2
"""The fewest returned items that make a queue a pool; there must also be at least as many as missing ones."""
MOST_CLAIMS = 3
MAIN_SHARE = 0.5
"""The share of a wait during which the holder waited for something else."""

Place = tuple[str, str]
"""A file, and the qualified name of the function that takes items there."""


@dataclass(frozen=True)
class _Take:
    row: int
    strand: int
    ns: int
    key: int
    back: int
    """The row of the SEND that put the item back, -1 for none."""
    call: int
    lost_in: int
    """The call that ended with the item, -1 if there is none."""
    is_new: bool = False
    """Whether the call made the item; then `row` is the call, and `back` is where the item came to the queue first."""


def find(facts: Facts) -> list[Finding]:
    """Return the pools whose items were not put back, with those who waited in vain."""
    waits: dict[tuple[str, Place], list[Waiting]] = defaultdict(list)
    for wait in failed_waits(facts):
        if wait.begin.channel in _CHANNELS:
            frame = words.own_frame(words.frames(facts, wait), facts)
            if frame is not None:
                waits[wait.begin.channel, (frame.file, frame.function)].append(wait)
    channels = {channel for channel, _ in waits}
    taken = {channel: _taken_by_place(facts, channel) for channel in channels}
    made = {channel: _made_by_place(facts, channel) for channel in channels}
    found = []
    for (channel, place), own in waits.items():
        takes, new = taken[channel].get(place, []), made[channel].get(place, [])
        found += _findings(facts, own, takes, new, _first_puts(facts, channel))
    return found


def _rows(facts: Facts, channel: str, kind: Kind) -> list[int]:
    found: list[int] = facts.graph.rows_of([kind], channel).tolist()
    return found


def _first_puts(facts: Facts, channel: str) -> set[int]:
    """Return the keys of the items that were put for the first time."""
    graph = facts.graph
    sends = _rows(facts, channel, Kind.SEND)
    return {graph.key(row) for row in sends if not _is_back(facts, row)}


def _taken_by_place(facts: Facts, channel: str) -> dict[Place, list[_Take]]:
    """Return what each function took from queues of a channel, by strand and row."""
    graph = facts.graph
    by_strand: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for row in _rows(facts, channel, Kind.RECEIVE):
        taker, call = _taker(facts, row)
        if call >= 0:
            by_strand[graph.at("strand", taker)].append((taker, row, call))
    backs = _backs(facts, channel, set(by_strand))
    found: dict[Place, list[_Take]] = defaultdict(list)
    for strand, taken in by_strand.items():
        taken.sort()
        stops = [*(taker for taker, _, _ in taken[1:]), graph.strands[strand].stop]
        for (taker, row, call), following in zip(taken, stops, strict=True):
            at = bisect_right(backs[strand], (taker, len(graph)))
            back = backs[strand][at][1] if at < len(backs[strand]) and backs[strand][at][0] < following else -1
            lost_in = _ended_around(facts, call) if back < 0 else -1
            site = graph.sites[graph.at("site", call)]
            take = _Take(taker, strand, graph.at("ts", row), graph.key(row), back, call, lost_in)
            found[site.file, site.qualname].append(take)
    return found


def _made_by_place(facts: Facts, channel: str) -> dict[Place, list[_Take]]:
    """Return the items that each function put into queues of a channel for the first time, with the calls that made them.

    A task that ran no call puts an item for the strand that waits for it.
    """
    graph, found = facts.graph, defaultdict[Place, list[_Take]](list)
    for row in _rows(facts, channel, Kind.SEND):
        strand, call = graph.at("strand", row), graph.owner_of(row)
        wait = facts.waiter_for(strand) if call < 0 else None
        if wait is not None:
            strand, call = wait.strand, innermost_call(facts, wait.begin.row)
        if call >= 0 and not _is_back(facts, row):
            site = graph.sites[graph.at("site", call)]
            made = _Take(call, strand, graph.at("ts", call), graph.key(row), row, call, -1, is_new=True)
            found[site.file, site.qualname].append(made)
    return found


def _is_back(facts: Facts, row: int) -> bool:
    return bool(int(facts.graph.extensions.flags[facts.graph.at("ext", row)]) & FLAG_BACK)


def _backs(facts: Facts, channel: str, takers: set[int]) -> dict[int, list[tuple[int, int]]]:
    """Return the items that came back: for each strand, the row in it and the row of the SEND, ascending.

    A task that took nothing gives an item back for the strand that waits for it, such as one that closes a connection.
    """
    graph = facts.graph
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for row in _rows(facts, channel, Kind.SEND):
        if _is_back(facts, row):
            strand, at = graph.at("strand", row), row
            wait = facts.waiter_for(strand) if strand not in takers else None
            if wait is not None:
                strand, at = wait.strand, wait.begin.row
            found[strand].append((at, row))
    for rows in found.values():
        rows.sort()
    return found


def _taker(facts: Facts, row: int) -> tuple[int, int]:
    """Return the row at which an item came to the strand that asked for it, and the call that asked; -1 for no call.

    A task that `asyncio.wait_for` made takes an item for its caller.
    """
    graph = facts.graph
    call = graph.owner_of(row)
    if call >= 0:
        return row, call
    wait = facts.waiter_for(graph.at("strand", row))
    if wait is None or wait.wake is None:
        return row, -1
    return wait.wake.row, innermost_call(facts, wait.begin.row)


def _ended_around(facts: Facts, call: int) -> int:
    """Return the call that lost an item, at or around the one that took it: the innermost that ended by an exception, else
    the outermost."""
    graph = facts.graph
    outermost = -1
    for around in graph.with_callers(call):
        end = graph.exit_of(around)
        if end < 0:
            break
        if graph.at("kind", end) == Kind.UNWIND:
            return around
        outermost = around
    return outermost


def _findings(
    facts: Facts, waits: list[Waiting], takes: list[_Take], new: list[_Take], first: set[int]
) -> list[Finding]:
    """Return one finding for all who waited while the same items were out."""
    returned = sum(take.back >= 0 for take in takes)
    items = sum(take.key in first for take in takes)
    if returned < max(LEAST_RETURNED, len(takes) - returned):
        return []
    found: dict[tuple[int, ...], tuple[list[Waiting], list[_Take]]] = {}
    for wait in waits:
        out = _out(facts, wait, [*takes, *new])
        if out and len(out) >= items:
            found.setdefault(tuple(take.row for take in out), ([], out))[0].append(wait)
    return [_finding(facts, own, out, items) for own, out in found.values()]


def _out(facts: Facts, wait: Waiting, takes: list[_Take]) -> list[_Take]:
    """Return the takes of the items that were out when a wait ended; a lost one before all others."""
    graph, until = facts.graph, Ends.of(facts).until_ns(wait)
    out = [take for take in takes if take.ns <= until and (take.back < 0 or graph.at("ts", take.back) > until)]
    return sorted(out, key=lambda take: not _is_lost(facts, take, until))


def _is_lost(facts: Facts, take: _Take, until: int) -> bool:
    return take.lost_in >= 0 and facts.graph.at("ts", facts.graph.exit_of(take.lost_in)) <= until


def _finding(facts: Facts, waits: list[Waiting], out: list[_Take], items: int) -> Finding:
    wait = waits[0]
    until = Ends.of(facts).until_ns(wait)
    lost = [take for take in out if _is_lost(facts, take, until)]
    many = f"all {items} items of it were out" if items > 1 else "its only item was out"
    rows = (*wait.rows, *(take.row for take in out))
    claims = [Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}; {many}.", rows)]
    claims += [_lost_claim(facts, take) for take in lost] or [_held_claim(facts, take, wait) for take in out]
    return Finding(KIND, Reason.RESOURCE, tuple(claims[:MOST_CLAIMS]), victims(facts, waits), "inferred", _BASIS)


def _held_claim(facts: Facts, take: _Take, wait: Waiting) -> Claim:
    """Tell who had an item, and what it waited for during most of the time that another one waited for the item."""
    graph = facts.graph
    rows: tuple[int, ...] = (take.call, take.row)
    text = f"{_taken(facts, take)} and did not put it back"
    if take.is_new:
        at, who = words.offset(graph.at("ts", take.back)), words.who(facts, take.strand)
        text, rows = f"{who} put an item there for the first time at {at}", (take.call, take.back)
    elif take.back >= 0:
        text = f"{_taken(facts, take)} and put it back at {words.offset(graph.at('ts', take.back))}"
        rows = (take.call, take.row, take.back)
    begin, until = max(wait.begin.ns, take.ns), Ends.of(facts).until_ns(wait)
    own = Moments.of(facts).overlapping_ns(take.strand, begin, until)[1]
    if own is not None and MAIN_SHARE * (until - begin) <= min(Ends.of(facts).until_ns(own), until) - max(
        own.begin.ns, begin
    ):
        text += f"; meanwhile it {words.waited_for(facts, own, Ends.of(facts).lasted_ns(own))}"
        rows = (*rows, *own.rows)
    return Claim(f"{text}.", rows)


def _taken(facts: Facts, take: _Take) -> str:
    graph = facts.graph
    place = words.site_place(graph.sites[graph.at("site", take.call)])
    return f"{words.who(facts, take.strand)} took one at {words.offset(take.ns)} ({place})"


def _lost_claim(facts: Facts, take: _Take) -> Claim:
    graph = facts.graph
    end = graph.exit_of(take.lost_in)
    site = graph.sites[graph.at("site", take.lost_in)]
    place = f"{site.qualname} ({words.base_name(site.file)}:{site.line})" if site.file else site.qualname
    who = _taken(facts, take)
    row = end - 1
    near = map(facts.exceptions.at_row, range(end - 8, end + 1))
    fact = next((each for each in near if each is not None and each.strand == take.strand), None)
    if graph.at("kind", end) == Kind.UNWIND:
        by = "an exception"
        if fact is not None:
            by, row = words.exception(fact), fact.row
        return Claim(f"{who}; {by} ended {place} before it was put back.", (take.call, take.row, row, end))
    ended = facts.ended.get(take.strand)
    if ended is not None and ended.text.end == "cancelled":
        return Claim(f"{who}; {place} was cancelled before it was put back.", (take.call, take.row, end, ended.row))
    return Claim(f"{who}; {place} ended without putting it back.", (take.call, take.row, end))
