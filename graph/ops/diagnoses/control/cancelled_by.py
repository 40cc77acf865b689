"""Name who cancelled a task: the plain reason for an interruption, which is not a fault by itself."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from clew.graph.ops.causes.state_waits import edges_into
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.places import fact_place, in_brackets, place
from clew.graph.ops.diagnoses.words import offset, own_frame, recorded_files, who
from clew.graph.ops.facts.facts import Fact, Facts
from clew.graph.ops.facts.scopes import origin_of
from clew.graph.render.library import library_place
from clew.records.format.facts import Cancel, Ended

KIND = "cancelled-by"
_SCOPES = {"asyncio.timeout": "the time limit", "anyio.scope": "the cancel scope"}


def cancels_of(facts: Facts) -> dict[int, list[Fact[Cancel]]]:
    """Return the accepted cancellations of each recorded task, in the order of time."""
    known: dict[int, list[Fact[Cancel]]] | None = facts.graph.answers.get("cancels of strands")
    if known is None:
        found = defaultdict(list)
        for cancel in sorted(facts.cancels, key=lambda cancel: cancel.ns):
            strand = facts.strand_with_key(cancel.process, cancel.key)
            if strand >= 0 and cancel.text.accepted:
                found[strand].append(cancel)
        known = facts.graph.answers["cancels of strands"] = dict(found)
    return known


def cancelled_by(facts: Facts, strand: int, row: int) -> Finding | None:
    """Return who cancelled a task that was interrupted at or before a row of its own, None if nobody did.

    The cancellation is the last one that the task had before the row. The row must show the interruption: it ends a
    wait or the task as cancelled, or follows such a row.
    """
    ns = facts.graph.at("ts", row)
    earlier = [cancel for cancel in cancels_of(facts).get(strand, ()) if cancel.ns <= ns]
    if not earlier:
        return None
    cancel = earlier[-1]
    shown = _interruption(facts, strand, cancel, ns)
    if shown < 0 or (cancel.channel == "anyio.scope" and _went_on(facts, strand, shown, ns)):
        return None
    return Finding(KIND, Reason.CONTROL, (cancel_claim(facts, strand, cancel, shown),), (Victim(strand, shown, -1),))


def _went_on(facts: Facts, strand: int, shown: int, until_ns: int) -> bool:
    """Return whether a task waited with success after an interruption: it had left the scope that was cancelled."""
    begun = facts.graph.at("ts", shown)
    waits = facts.waits_of.of(strand)
    return bool(np.any(waits.ended("satisfied") & (waits.begin_ns >= begun) & (waits.wake_ns <= until_ns)))


def _interruption(facts: Facts, strand: int, cancel: Fact[Cancel], until_ns: int) -> int:
    """Return the first row where a task was interrupted after a cancellation, -1 if there is none."""
    waits = facts.waits_of.of(strand)
    inside = waits.ended("cancelled") & (waits.wake_ns >= cancel.ns) & (waits.wake_ns <= until_ns)
    rows: list[int] = waits.wake_row[inside].tolist()
    ended = facts.ended.get(strand)
    if ended and ended.text.end == "cancelled" and cancel.ns <= ended.ns <= until_ns:
        rows.append(ended.row)
    return min(rows, default=-1)


def cancelled_at(facts: Facts, row: int) -> Fact[Cancel] | None:
    """Return the cancellation that a strand was ending by at a row, None if it was not.

    A strand that ends as cancelled gets nothing more done after the interruption than its clean-up.
    """
    graph = facts.graph
    strand, ns = graph.at("strand", row), graph.at("ts", row)
    ended = facts.ended.get(strand)
    if ended is None or ended.text.end != "cancelled":
        return None
    earlier = [cancel for cancel in cancels_of(facts).get(strand, ()) if cancel.ns <= ns]
    return earlier[-1] if earlier else None


def cancel_claim(facts: Facts, strand: int, cancel: Fact[Cancel], *more: int) -> Claim:
    """Return the sentence that says who cancelled a task, where and when."""
    origin = origin_of(facts, cancel)
    task, asker = who(facts, strand), who(facts, origin.strand)
    at = in_brackets(asked_in(facts, origin))
    scope = _SCOPES.get(cancel.channel, "")
    rows: tuple[int, ...] = (cancel.row, origin.row, *more)
    timer = _timer_of(facts, cancel)
    if timer >= 0:
        set_by, since = who(facts, facts.graph.at("strand", timer)), offset(facts.graph.at("ts", timer))
        text = f"A timer that {set_by} had set at {since}{in_brackets(place(facts, timer))} cancelled {task} at "
        text += offset(cancel.ns)
        rows = (*rows, timer)
    elif cancel.text.deadline or origin.text.deadline:
        text = f"A time limit cancelled {task} at {offset(origin.ns)}{at}"
    elif cancel.channel == "asyncio.taskgroup":
        failed = _failed_before(facts, cancel)
        because = f", because {who(facts, failed.strand)} failed" if failed else ""
        text = f"Its task group cancelled {task} at {offset(cancel.ns)}{at}{because}"
        rows = (*rows, failed.row) if failed else rows
    elif scope:
        known = {task, facts.graph.strands[strand].name, ""}
        name = f" {cancel.text.target}" if cancel.text.target not in known else ""
        of = "its own" if origin.strand == strand else ""
        cancelled = f"{scope.replace('the', of, 1)}{name}" if of else f"{scope}{name} of {task}"
        text = f"{asker} cancelled {cancelled} at {offset(origin.ns)}{at}"
    elif cancel.strand == strand:
        text = f"{task} cancelled itself at {offset(cancel.ns)}{at}"
    else:
        text = f"{asker} cancelled {task} at {offset(cancel.ns)}{at}"
    # The message of a scope is made by its library: it repeats who and names addresses.
    message = f": {cancel.text.message}" if cancel.text.message and not scope else ""
    return Claim(f"{text}{message}.", tuple(dict.fromkeys(rows)))


def _timer_of(facts: Facts, cancel: Fact[Cancel]) -> int:
    """Return the row that set the timer which called `cancel` itself, with no code of a program or library between; else -1."""
    graph = facts.graph
    if not cancel.text.deadline or cancel.channel != "asyncio.task":
        return -1
    if not all(library_place(frame.file).startswith("<stdlib>") for frame in cancel.text.at):
        return -1
    for edge in reversed(edges_into(graph, graph.at("region", cancel.row), cancel.row)):
        if graph.strings[int(graph.edge_channel[edge])] == "asyncio.handle":
            return int(graph.edge_src[edge])
    return -1


def _failed_before(facts: Facts, cancel: Fact[Cancel]) -> Fact[Ended] | None:
    """Return the failure of the task whose end made a task group cancel its tasks, None if that was not recorded."""
    graph = facts.graph
    for edge in reversed(edges_into(graph, graph.at("region", cancel.row), cancel.row)):
        ended = facts.ended.get(graph.at("strand", int(graph.edge_src[edge])))
        if ended and ended.text.end == "failed":
            return ended
    return None


def asked_in(facts: Facts, cancel: Fact[Cancel]) -> str:
    """Return the place that asked for a cancellation: its line of the program, else the function of the program around it."""
    frame = own_frame(cancel.text.at, facts)
    call = facts.graph.call_of(cancel.row)
    if frame is not None and frame.file not in recorded_files(facts) and call >= 0:
        return place(facts, call)
    return fact_place(facts, cancel)
