"""Find items of a queue that serves as a pool, which a call took and did not put back before it ended.

A queue serves as a pool if most items that one function takes from it come back. The records say which: an item that is put
back is marked. A wait for the queue must have failed while every item was out, and a call that had taken one must have ended.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.significance import failed_waits, innermost_call, victims
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Waiting
from clew.records.format.event import FLAG_BACK, Kind

KIND = "item-not-returned"
_CHANNELS = ("queue", "asyncio.queue")
_BASIS = "which items came back to the queue"
LEAST_RETURNED = 2
"""The fewest returned items that make a queue a pool; there must also be at least as many as missing ones."""
MOST_CLAIMS = 3

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


def find(facts: Facts) -> list[Finding]:
    """Return the pools whose items were not put back, with those who waited in vain."""
    waits: dict[tuple[str, Place], list[Waiting]] = defaultdict(list)
    for wait in failed_waits(facts):
        if wait.begin.channel in _CHANNELS:
            frame = words.own_frame(words.frames(facts, wait), facts)
            if frame is not None:
                waits[wait.begin.channel, (frame.file, frame.function)].append(wait)
    found = []
    for (channel, place), own in waits.items():
        takes = list(_takes(facts, channel, place))
        finding = _finding(facts, own, takes, _first_puts(facts, channel))
        if finding is not None:
            found.append(finding)
    return found


def _rows(facts: Facts, channel: str, kind: Kind) -> list[int]:
    graph = facts.graph
    rows = graph.rows_of([kind])
    number = graph.channel_ids.get(channel, -1)
    found: list[int] = rows[graph.extensions.channel[graph.ext[rows]] == number].tolist() if len(rows) else []
    return found


def _first_puts(facts: Facts, channel: str) -> set[int]:
    """Return the keys of the items that were put for the first time."""
    graph = facts.graph
    sends = _rows(facts, channel, Kind.SEND)
    return {graph.key(row) for row in sends if not int(graph.extensions.flags[graph.at("ext", row)]) & FLAG_BACK}


def _takes(facts: Facts, channel: str, place: Place) -> Iterator[_Take]:
    """Yield what the function at a place took from queues of a channel, by strand and row."""
    graph = facts.graph
    backs: dict[int, list[int]] = defaultdict(list)
    for row in _rows(facts, channel, Kind.SEND):
        if int(graph.extensions.flags[graph.at("ext", row)]) & FLAG_BACK:
            backs[graph.at("strand", row)].append(row)
    own: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for row in _rows(facts, channel, Kind.RECEIVE):
        taker, call = _taker(facts, row)
        site = graph.sites[graph.at("site", call)] if call >= 0 else None
        if site is not None and (site.file, site.qualname) == place:
            own[graph.at("strand", taker)].append((taker, row, call))
    for strand, taken in own.items():
        taken.sort()
        stops = [*(taker for taker, _, _ in taken[1:]), graph.strands[strand].stop]
        for (taker, row, call), following in zip(taken, stops, strict=True):
            at = bisect_right(backs[strand], taker)
            back = backs[strand][at] if at < len(backs[strand]) and backs[strand][at] < following else -1
            lost_in = _ended_around(facts, call) if back < 0 else -1
            yield _Take(taker, strand, graph.at("ts", row), graph.key(row), back, call, lost_in)


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
    while call >= 0:
        end = graph.exit_of(call)
        if end < 0:
            break
        if graph.at("kind", end) == Kind.UNWIND:
            return call
        outermost = call
        call = graph.enclosing_call(call)
    return outermost


def _finding(facts: Facts, waits: list[Waiting], takes: list[_Take], first: set[int]) -> Finding | None:
    graph, ends = facts.graph, Ends.of(facts)
    returned = sum(take.back >= 0 for take in takes)
    items = sum(take.key in first for take in takes)
    if returned < max(LEAST_RETURNED, len(takes) - returned):
        return None
    for wait in waits:
        until = ends.until_ns(wait)
        out = [take for take in takes if take.ns <= until and (take.back < 0 or graph.at("ts", take.back) > until)]
        if not out or len(out) < items:
            continue
        lost = [take for take in out if take.lost_in >= 0 and graph.at("ts", graph.exit_of(take.lost_in)) <= until]
        many = f"all {items} items of it were out" if items > 1 else "its only item was out"
        rows = (*wait.rows, *(take.row for take in out))
        claims = [Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}; {many}.", rows)]
        claims += [_lost_claim(facts, take) for take in lost] or [_held_claim(facts, take) for take in out]
        return Finding(KIND, Reason.RESOURCE, tuple(claims[:MOST_CLAIMS]), victims(facts, waits), "inferred", _BASIS)
    return None


def _held_claim(facts: Facts, take: _Take) -> Claim:
    ns = facts.graph.at("ts", take.back) if take.back >= 0 else -1
    until = f"put it back at {words.offset(ns)}" if ns >= 0 else "did not put it back"
    rows = (take.row, take.back) if take.back >= 0 else (take.row,)
    return Claim(f"{_taken(facts, take)} and {until}.", rows)


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
            name = fact.channel.rpartition(".")[2] if fact.channel.startswith("builtins.") else fact.channel
            by, row = f"{name}: {fact.text.message}" if fact.text.message else name, fact.row
        return Claim(f"{who}; {by} ended {place} before it was put back.", (take.row, row, end))
    ended = facts.ended.get(take.strand)
    if ended is not None and ended.text.end == "cancelled":
        return Claim(f"{who}; {place} was cancelled before it was put back.", (take.row, end, ended.row))
    return Claim(f"{who}; {place} ended without putting it back.", (take.row, end))
