"""Find cancellations that a task swallowed: it was interrupted, went on as before, and did not end as cancelled.

A task goes on if it waits again while a request counts as not taken back, and while it handles no CancelledError. That
alone is no fault, because a task may end by returning. So one of three things must be true: the task waits again at a line
where it waited before, the canceller waits in vain for the task's end, or no handler that names cancellations caught it. A
task that waits only for tasks that it cancelled itself, or that raises its cancellation later, did what was asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from clew.graph.ops.diagnoses.control.cancelled_by import cancel_claim, cancels_of
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.places import line_of_wait, runs_callback
from clew.graph.ops.diagnoses.words import base_name, ending, offset, seconds, thing, who
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Fact, Facts, Waiting, Waits
from clew.graph.render.library import library_place
from clew.records.format.event import Kind
from clew.records.format.facts import Cancel
from clew.source.cancellation_handlers import Handler, handlers_at, lines_of_calls

KIND = "cancellation-swallowed"
_BASIS = "the source: nothing else around the interrupted wait catches a cancellation"
_UNNAMED = "the source: nothing of the program around the interrupted wait names cancellations"
_INTERRUPTED = ("cancelled", "timeout")


def find(facts: Facts) -> list[Finding]:
    """Return the swallowed cancellations of a run, at most one for each task."""
    found = []
    for strand, cancels in cancels_of(facts).items():
        waits = facts.waits_of.of(strand)
        if any(map(_goes_on, waits.take(waits.after_request))):
            findings = (
                _swallowed(facts, strand, cancel, waits) for cancel in cancels if _is_asked(facts, strand, cancel)
            )
            found += [finding for finding in findings if finding][:1]
    return found


def _is_asked(facts: Facts, strand: int, cancel: Fact[Cancel]) -> bool:
    """Return whether the task has to heed the cancellation: others asked for it, or a time limit that it runs in.

    Callbacks may be parts of scopes that clew does not know, and anyio's scopes ask again until a task ends.
    """
    if cancel.channel == "asyncio.task":
        return not cancel.text.deadline and cancel.strand != strand and not runs_callback(facts, cancel.row)
    return cancel.channel == "asyncio.timeout" or (cancel.channel == "asyncio.taskgroup" and not cancel.text.own)


def _goes_on(wait: Waiting, before: int = 0) -> bool:
    """Return whether a task waits while more requests than `before` are not taken back, and handles none of them."""
    return wait.begin.text.cancelling > before and not wait.begin.text.handling


def _swallowed(facts: Facts, strand: int, cancel: Fact[Cancel], waits: Waits) -> Finding | None:
    interrupted = next((wait for wait in waits if wait.wake and wait.wake.ns >= cancel.ns), None)
    if interrupted is None or interrupted.wake is None or interrupted.end not in _INTERRUPTED:
        return None
    after = interrupted.wake.ns
    later = [wait for wait in waits if wait.begin.ns >= after]
    before = interrupted.begin.text.cancelling  # up to Python 3.12, task groups do not take all of their own back
    next_ns = next((other.ns for other in cancels_of(facts)[strand] if other.ns > after), facts.last_ns + 1)
    on = [wait for wait in later if wait.begin.ns < next_ns and _goes_on(wait, before)]
    on = [wait for wait in on if not _waits_for_cancelled(facts, wait)]
    if not on or _is_heeded_later(facts, strand, on[0], later):
        return None
    caught = _caught(facts, interrupted, on[0])
    again = _waited_again(waits, interrupted, on)
    if caught and all(_is_meant(each) and each.is_passed for each in caught):
        again = None  # the task may end in its own way
    vain = _waited_in_vain(facts, strand, cancel) if again is None else None
    if again is None and vain is None and (not caught or any(map(_is_meant, caught))):
        return None
    task, place = who(facts, strand), _at(facts, interrupted)
    certain = caught is not None and len(caught) == 1
    text = f"It interrupted the wait of {task}{place}{f', and {_by(caught[0])}' if caught and certain else ''}."
    claims = [cancel_claim(facts, strand, cancel), Claim(text, interrupted.rows)]
    if vain is not None:
        time = seconds(Ends.of(facts).lasted_ns(vain))
        text = f"{task} did not end: {who(facts, vain.strand)} waited {time} for its end in vain."
        claims.append(Claim(text, (*on[0].rows, *vain.rows)))
    else:
        shown = again or on[0]
        did = "waited again" if again else f"waited for {thing(shown, facts)}"
        how = "" if again else f" {ending(facts, shown)}"
        if not again and shown.begin.channel == "asyncio.sleep":
            did, how = f"slept {seconds(Ends.of(facts).lasted_ns(shown))}", ""
        text = f"{task} continued: at {offset(shown.begin.ns)} it {did}{_at(facts, shown)}{how}."
        claims.append(Claim(text, shown.rows))
    victims = [Victim(strand, interrupted.wake.row, -1)]
    victims += [Victim(wait.strand, wait.begin.row, -1) for wait in _ends_awaited(facts, strand, after)]
    basis = _BASIS if certain else "" if again or vain else _UNNAMED
    sure: Literal["recorded", "inferred"] = "inferred" if basis else "recorded"
    return Finding(KIND, Reason.CONTROL, tuple(claims), tuple(victims), sure, basis)


def _waits_for_cancelled(facts: Facts, wait: Waiting) -> bool:
    """Return whether a wait is for the ends of tasks that are all asked to cancel themselves."""
    targets = list(_targets(wait))

    def is_asked(key: int) -> bool:
        asked = facts.cancels_by_target.get((wait.begin.process, key), ())
        return any(cancel.text.accepted and cancel.ns <= wait.begin.ns for cancel in asked)

    return bool(targets) and all(map(is_asked, targets))


def _is_heeded_later(facts: Facts, strand: int, first: Waiting, later: list[Waiting]) -> bool:
    """Return whether the task took the request back after its wait `first`, or ended by it."""
    after = later[later.index(first) + 1 :]
    if any(wait.begin.text.cancelling < first.begin.text.cancelling and not wait.begin.text.handling for wait in after):
        return True
    ended = facts.ended.get(strand)
    if not ended or ended.text.end != "cancelled":
        return False
    # A later request explains the end if it interrupted the task, which then only cleaned up.
    stopped = [wait for wait in (first, *after) if wait.end in _INTERRUPTED and _is_new(facts, strand, wait)]
    return not stopped or any(_goes_on(wait) for wait in after if wait.begin.ns > stopped[-1].begin.ns)


def _is_new(facts: Facts, strand: int, wait: Waiting) -> bool:
    return any(wait.covers(cancel.ns) for cancel in cancels_of(facts)[strand])


@dataclass(frozen=True)
class _Caught:
    """What may have caught a cancellation."""

    handler: Handler
    function: str
    file: str
    line: int
    is_passed: bool
    """Whether its call went on behind the block that it guards, for good."""


def _caught(facts: Facts, interrupted: Waiting, then: Waiting) -> list[_Caught] | None:
    """Return what may have caught a cancellation in the functions between the wait that it interrupted and the innermost
    call of the program that went on; None if that is not known."""
    graph = facts.graph
    calls = _calls(facts, interrupted.begin.row)
    then_lines = {(frame.file, frame.function): frame.line for frame in then.begin.text.at}
    found: list[_Caught] = []
    callee = ""
    at = interrupted.begin.text.at
    while at or calls:
        site = graph.sites[graph.at("site", calls[0])] if calls else None
        if at:
            frame, at = at[0], at[1:]
            file, function = frame.file, frame.function
            lines: tuple[int, ...] = (frame.line,)
            call = calls.pop(0) if site and (site.file, site.qualname) == (file, function) else -1
        else:
            assert site
            call, file, function = calls.pop(0), site.file, site.qualname
            lines = lines_of_calls(file, site.line, callee)
        alive = call >= 0 and (graph.exit_of(call) < 0 or graph.exit_of(call) > then.begin.row)
        then_line = then_lines.get((file, function), 0) if alive else 0
        choices = {handlers_at(file, line, then_line) for line in lines}
        handlers = choices.pop() if len(choices) == 1 else None
        if handlers is None:
            return None
        found += (
            _Caught(handler, function, file, lines[0], alive and bool(then_line) and not handler.in_loop)
            for handler in handlers
        )
        if alive:
            return found
        callee = function.rpartition(".")[2]
    return found


def _calls(facts: Facts, row: int) -> list[int]:
    """Return the recorded calls of a task that its wait at a row suspended, innermost first."""
    graph = facts.graph
    found: list[int] = []
    for before in range(row - 1, graph.strand_of(row).start, -1):
        if graph.at("kind", before) != Kind.SUSPEND:
            break
        found.append(graph.call_of(before))
    return found[::-1]


def _is_meant(caught: _Caught) -> bool:
    """Return whether the program catches cancellations there on purpose."""
    return caught.handler.named and not library_place(caught.file)


def _by(caught: _Caught) -> str:
    name, file = caught.function.rpartition(".<locals>.")[2], base_name(caught.file)
    if library_place(caught.file):
        return f"{name} ({file}:{caught.line}) swallowed it"
    return f"{name} swallowed it (`{caught.handler.text}`, {file}:{caught.handler.line})"


def _waited_again(waits: Waits, interrupted: Waiting, later: list[Waiting]) -> Waiting | None:
    """Return the first later wait at a place of the program where the task had waited up to the interruption."""
    known = {_place(wait) for wait in waits if wait.begin.ns <= interrupted.begin.ns} - {()}
    return next((wait for wait in later if _place(wait) in known), None)


def _place(wait: Waiting) -> tuple[tuple[str, int], ...]:
    """Return the lines of the program in the stack of a wait; of libraries, if the program has none."""
    lines = [(frame.file, frame.line) for frame in wait.begin.text.at]
    return tuple(line for line in lines if not library_place(line[0])) or tuple(lines)


def _ends_awaited(facts: Facts, strand: int, after_ns: int) -> list[Waiting]:
    """Return the waits of others for a task's end that ended after a time."""
    task = facts.graph.strands[strand]
    awaited: dict[tuple[int, int], list[Waiting]] | None = facts.graph.answers.get("waits for ends")
    if awaited is None:
        awaited = facts.graph.answers["waits for ends"] = {}
        for wait in facts.waits.take(facts.waits.for_ends):
            for target in _targets(wait):
                awaited.setdefault((wait.begin.process, target), []).append(wait)
    found = awaited.get((task.process, task.key), [])
    return [wait for wait in found if wait.strand != strand and wait.until_ns(facts.last_ns) > after_ns]


def _targets(wait: Waiting) -> Iterator[int]:
    if wait.begin.text.target:
        yield wait.begin.text.target
    yield from wait.begin.text.targets


def _waited_in_vain(facts: Facts, strand: int, cancel: Fact[Cancel]) -> Waiting | None:
    """Return the wait for a task's end by whoever cancelled it, if the task did not end in it."""
    waits = (wait for wait in _ends_awaited(facts, strand, cancel.ns) if wait.strand == cancel.strand)
    return next((wait for wait in waits if wait.end in ("timeout", "never")), None)


def _at(facts: Facts, wait: Waiting) -> str:
    file, line = line_of_wait(facts, wait)
    return f" at {os.path.basename(file)}:{line}" if file else ""
