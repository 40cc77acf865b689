"""Find cancellations that interrupted a clean-up: a cancelled task was cancelled again while it closed something.

The recorded stack of the second wait must contain a function that closes, by its name. What the clean-up left behind
is not recorded, so the finding only says which clean-up did not finish.
"""

from __future__ import annotations

import os
from bisect import bisect_left

from clew.graph.ops.diagnoses.control.cancelled_by import cancel_claim, cancels_of
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason, Victim
from clew.graph.ops.diagnoses.words import offset, where, who
from clew.graph.ops.facts.facts import Fact, Facts, Waiting
from clew.records.format.facts import Cancel, Frame

KIND = "cancellation-misdirected"
_CLOSING = frozenset({
    "close", "aclose", "__aexit__", "__exit__", "terminate", "disconnect", "shutdown", "release", "rollback", "cleanup",
    "stop", "dispose", "wait_closed", "unlock", "unsubscribe", "commit", "putconn", "flush",
})  # fmt: skip


def find(facts: Facts) -> list[Finding]:
    """Return the interrupted clean-ups of a run, at most one for each task."""
    found = []
    for strand, cancels in cancels_of(facts).items():
        pair = _interrupted(facts.waits_of.get(strand, []), cancels) if len(cancels) > 1 else None
        if pair:
            found.append(_finding(facts, strand, cancels, *pair))
    return found


def _interrupted(waits: list[Waiting], cancels: list[Fact[Cancel]]) -> tuple[Waiting, Waiting] | None:
    """Return an interrupted wait and the interrupted wait of its clean-up, None if there are none.

    Only waits of clean-ups may lie between the two.
    """
    first: Waiting | None = None
    for wait in waits:
        stopped = wait.end == "cancelled" and _cancel_in(wait, cancels) is not None
        if closing_frame(wait.begin.text.at) is None:
            first = wait if stopped else None
        elif first and first.wake and stopped and wait.begin.ns >= first.wake.ns:
            return first, wait
    return None


def _cancel_in(wait: Waiting, cancels: list[Fact[Cancel]]) -> Fact[Cancel] | None:
    """Return the first cancellation during a wait."""
    at = bisect_left(cancels, wait.begin.ns, key=lambda cancel: cancel.ns)
    return cancels[at] if at < len(cancels) and wait.covers(cancels[at].ns) else None


def _finding(facts: Facts, strand: int, cancels: list[Fact[Cancel]], first: Waiting, second: Waiting) -> Finding:
    asked, again = _cancel_in(first, cancels), _cancel_in(second, cancels)
    closing = closing_frame(second.begin.text.at)
    assert asked and again and closing
    task, name = who(facts, strand), closing.function.rpartition(".<locals>.")[2]
    at = where(second.begin.text.at, facts)
    began = f"{task} then began to clean up in {name} ({os.path.basename(closing.file)}:{closing.line}) and waited"
    claims = (
        cancel_claim(facts, strand, asked, *first.rows),
        Claim(f"{began}{f' in {at}' if at else ''}.", (second.begin.row,)),
        Claim(f"It was cancelled again at {offset(again.ns)}, so {name} did not finish.", (again.row, second.rows[-1])),
    )
    return Finding(KIND, Reason.CONTROL, claims, (Victim(strand, second.begin.row, -1),))


def closing_frame(at: tuple[Frame, ...]) -> Frame | None:
    """Return the outermost frame of a stack whose function closes something, by its name; None if there is none."""
    return next((frame for frame in reversed(at) if _name(frame) in _CLOSING), None)


def _name(frame: Frame) -> str:
    name = frame.function.rpartition(".")[2]
    return name if name.endswith("__") else name.lstrip("_")
