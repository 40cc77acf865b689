"""Find cancellations that a task swallowed: it was interrupted, went on as before, and did not end as cancelled.

Two things show that a task went on: it waits again at a line where it had waited before the interruption, or whoever
cancelled it waited in vain for its end. A task that ends soon after its cancellation did what was asked, whether it
raised or returned. Time limits, task groups and cancel scopes may turn their own cancellation into something else.
"""

from __future__ import annotations

import os
from bisect import bisect_right

from clew.graph.ops.diagnoses.control.cancelled_by import cancel_claim, cancels_of
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.places import line_of_wait, runs_callback
from clew.graph.ops.diagnoses.words import offset, seconds, who
from clew.graph.ops.facts.facts import Fact, Facts, Waiting
from clew.records.format.facts import Cancel

KIND = "cancellation-swallowed"
_CHANNEL = "asyncio.task"


def find(facts: Facts) -> list[Finding]:
    """Return the swallowed cancellations of a run, at most one for each task."""
    found = []
    for strand, cancels in cancels_of(facts).items():
        ended = facts.ended.get(strand)
        if ended and ended.text.end == "cancelled":
            continue
        waits = facts.waits_of.get(strand, [])
        ends = [wait.until_ns(facts.last_ns) for wait in waits]
        for cancel in cancels:
            finding = _swallowed(facts, strand, cancel, waits, ends) if _is_plain(facts, strand, cancel) else None
            if finding:
                found.append(finding)
                break
    return found


def _is_plain(facts: Facts, strand: int, cancel: Fact[Cancel]) -> bool:
    """Return whether code of another strand asked for the cancellation, rather than a time limit or a scope."""
    if cancel.channel != _CHANNEL or cancel.text.deadline or cancel.strand == strand:
        return False
    return not runs_callback(facts, cancel.row)


def _swallowed(
    facts: Facts, strand: int, cancel: Fact[Cancel], waits: list[Waiting], ends: list[int]
) -> Finding | None:
    at = bisect_right(ends, cancel.ns - 1) if ends == sorted(ends) else 0
    interrupted = next(
        (wait for wait in waits[at:] if wait.begin.ns <= cancel.ns and wait.wake and wait.end == "cancelled"), None
    )
    if interrupted is None or interrupted.wake is None:
        return None
    after = interrupted.wake.ns
    again = _waited_again(facts, waits, after)
    task = who(facts, strand)
    asked = cancel_claim(facts, strand, cancel)
    stopped = Claim(f"It interrupted the wait of {task}{_at(facts, interrupted)}.", interrupted.rows)
    if again is not None:
        text = f"{task} continued: at {offset(again.begin.ns)} it waited again{_at(facts, again)}."
        went_on = Claim(text, again.rows)
    else:
        vain = _waited_in_vain(facts, strand, cancel)
        if vain is None:
            return None
        time = seconds(vain.until_ns(facts.last_ns) - vain.begin.ns)
        went_on = Claim(f"{task} did not end: {who(facts, vain.strand)} waited {time} for its end in vain.", vain.rows)
    victims = [Victim(strand, interrupted.wake.row, -1)]
    victims += [Victim(wait.strand, wait.begin.row, -1) for wait in _ends_awaited(facts, strand, after)]
    return Finding(KIND, Reason.CONTROL, (asked, stopped, went_on), tuple(victims))


def _waited_again(facts: Facts, waits: list[Waiting], after_ns: int) -> Waiting | None:
    """Return the first wait after a time at a line where the task had waited before it."""
    known = {line_of_wait(facts, wait) for wait in waits if wait.begin.ns < after_ns} - {("", 0)}
    later = (wait for wait in waits if wait.begin.ns >= after_ns)
    return next((wait for wait in later if line_of_wait(facts, wait) in known), None)


def _ends_awaited(facts: Facts, strand: int, after_ns: int) -> list[Waiting]:
    """Return the waits of others for a task's end that ended after a time."""
    task = facts.graph.strands[strand]
    awaited: dict[tuple[int, int], list[Waiting]] | None = facts.graph.answers.get("waits for ends")
    if awaited is None:
        awaited = facts.graph.answers["waits for ends"] = {}
        for wait in facts.waits:
            if wait.begin.text.target:
                awaited.setdefault((wait.begin.process, wait.begin.text.target), []).append(wait)
    found = awaited.get((task.process, task.key), [])
    return [wait for wait in found if wait.strand != strand and wait.until_ns(facts.last_ns) > after_ns]


def _waited_in_vain(facts: Facts, strand: int, cancel: Fact[Cancel]) -> Waiting | None:
    """Return the wait for a task's end by whoever cancelled it, if the task did not end in it."""
    waits = (wait for wait in _ends_awaited(facts, strand, cancel.ns) if wait.strand == cancel.strand)
    return next((wait for wait in waits if wait.end in ("timeout", "never")), None)


def _at(facts: Facts, wait: Waiting) -> str:
    file, line = line_of_wait(facts, wait)
    return f" at {os.path.basename(file)}:{line}" if file else ""
