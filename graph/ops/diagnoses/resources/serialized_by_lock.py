"""Find strands that waited one after the other for one lock that each held during slow work.

At least three strands must have waited at least 10 ms each and got the lock in turn, at least 5 ms apart (the median). Their
waits must add up to at least half of the work around them: otherwise the lock costs little, and short waits are by chance.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from statistics import median

import numpy as np

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.main_call import main_call
from clew.graph.ops.diagnoses.significance import SHARE, victims, work_ns
from clew.graph.ops.facts.columns.views import Groups
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Resource, Waiting, Waits
from clew.records.format.facts import Frame

KIND = "serialized-by-lock"
LEAST_STRANDS = 3
LEAST_WAIT_NS = 10_000_000
LEAST_HOLD_NS = 5_000_000


def find(facts: Facts) -> list[Finding]:
    ends, waits = Ends.of(facts), facts.waits
    slow = waits.take(waits.is_exclusive & waits.ended("satisfied") & (ends.lasted_of(waits) >= LEAST_WAIT_NS))
    found: dict[Resource, list[Finding]] = {}
    for resource, group in Groups[Resource, Waits](slow, slow.owner, slow.key).items():
        queues = _queues(facts, group) if len(group) >= LEAST_STRANDS else []
        findings = [_finding(facts, queue) for queue in queues if _matters(facts, queue)]
        if findings:
            found[resource] = findings
    if len(found) > 1:  # The lock that was first waited for comes first.
        return [each for resource in facts.waits_for if resource in found for each in found[resource]]
    return [each for findings in found.values() for each in findings]


def _queues(facts: Facts, waits: Waits) -> list[list[Waiting]]:
    """Return waits for a lock in groups without a pause between them."""
    ends = Ends.of(facts)
    queues: list[list[Waiting]] = []
    reached = -1
    for wait in waits:
        if wait.begin.ns > reached:
            queues.append([])
        queues[-1].append(wait)
        reached = max(reached, ends.until_ns(wait))
    return queues


def _matters(facts: Facts, queue: list[Waiting]) -> bool:
    if len({wait.strand for wait in queue}) < LEAST_STRANDS or _hold_ns(facts, queue) < LEAST_HOLD_NS:
        return False
    ends = Ends.of(facts)
    return sum(map(ends.lasted_ns, queue)) >= SHARE * sum(work_ns(facts, wait) for wait in queue)


def _hold_ns(facts: Facts, queue: list[Waiting]) -> float:
    """Return the median time from one getting the lock to the next one."""
    return median(held_ns for _wait, held_ns in _holds(facts, queue))


def _holds(facts: Facts, queue: list[Waiting]) -> list[tuple[Waiting, int]]:
    """Return each wait but the last one to get the lock, and the time until the next one got it."""
    until_ns = Ends.of(facts).until_ns
    return [(first, until_ns(second) - until_ns(first)) for first, second in pairwise(sorted(queue, key=until_ns))]


def _finding(facts: Facts, queue: list[Waiting]) -> Finding:
    ends = Ends.of(facts)
    total, longest = sum(map(ends.lasted_ns, queue)), max(queue, key=ends.lasted_ns)
    strands = list(dict.fromkeys(wait.strand for wait in queue))
    rows = tuple(row for wait in queue for row in wait.rows)
    place = words.library_place(longest.begin.text.at, facts)
    lock = f"{_one(facts, longest)}{f' ({place})' if place else ''}"
    times = f"{words.seconds(total)} in sum, {words.seconds(ends.lasted_ns(longest))} at most"
    claims = [Claim(f"{words.names(facts, strands, 6)} waited one after the other for {lock}: {times}.", rows)]
    claims.append(_held(facts, queue, rows))
    return Finding(KIND, Reason.RESOURCE, tuple(claims), victims(facts, queue))


def _held(facts: Facts, queue: list[Waiting], rows: tuple[int, ...]) -> Claim:
    """Return the sentence that says for how long the lock was held, since which line, and in which call."""
    graph, holds = facts.graph, _holds(facts, queue)
    longest, most_ns = max(holds, key=lambda hold: hold[1])
    if min(held_ns for _wait, held_ns in holds) >= SHARE * most_ns:
        text = f"Each holder kept it for about {words.seconds(int(_hold_ns(facts, queue)))}"
    else:
        text = f"{words.who(facts, longest.strand)} kept it longest, for {words.seconds(most_ns)}"
    taken = Counter(holder.at for wait in queue for holder in wait.begin.text.holders if holder.at)
    at: tuple[Frame, ...] = taken.most_common(1)[0][0] if taken else ()
    if at:
        text += f", from {words.library_place(at, facts)} on"
    first = longest.rows[-1]
    stop = first + int(
        np.searchsorted(graph.ts[first : graph.strand_of(first).stop], graph.at("ts", first) + most_ns, "right")
    )
    call, _end = main_call(graph, first, stop, most_ns)
    if call >= 0:
        text += f", most of it in {words.site_place(graph.sites[graph.at('site', call)])}"
    return Claim(f"{text}.", (*rows, call) if call >= 0 else rows)


def _one(facts: Facts, wait: Waiting) -> str:
    """Return the lock's name, or "one lock" where a library made it: its line does not name the lock."""
    at = wait.begin.text.at
    if at and words.own_frame(at, facts) != at[0]:
        return "one lock"
    thing = words.thing(wait, facts)
    return f"one {thing[2:]}" if thing.startswith("a ") else thing
