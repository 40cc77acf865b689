"""Find cancellations that interrupted a clean-up: a cancelled task was cancelled again while it closed something.

The recorded stack of the second wait must contain a function that closes, by its name. What the clean-up left behind
is not recorded, so the finding only says which clean-up did not finish.
"""

from __future__ import annotations

import os

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
        if len(cancels) < 2:
            continue
        interrupted = [wait for wait in facts.waits_of.get(strand, ()) if wait.end == "cancelled"]
        finding = _interrupted(facts, strand, cancels, interrupted)
        if finding:
            found.append(finding)
    return found


def _interrupted(facts: Facts, strand: int, cancels: list[Fact[Cancel]], waits: list[Waiting]) -> Finding | None:
    task = who(facts, strand)
    for first in waits:
        assert first.wake
        asked = [cancel for cancel in cancels if first.begin.ns <= cancel.ns <= first.wake.ns]
        if not asked or closing_frame(first.begin.text.at):
            continue
        for second in waits:
            closing = closing_frame(second.begin.text.at)
            if closing is None or not second.wake or second.begin.ns < first.wake.ns:
                continue
            again = [cancel for cancel in cancels if second.begin.ns <= cancel.ns <= second.wake.ns]
            if not again:
                continue
            name = closing.function.rpartition(".<locals>.")[2]
            at = where(second.begin.text.at, facts)
            claims = (
                cancel_claim(facts, strand, asked[0], *first.rows),
                Claim(
                    f"{task} then began to clean up in {name} ({os.path.basename(closing.file)}:{closing.line}) and waited"
                    f"{f' in {at}' if at else ''}.",
                    (second.begin.row,),
                ),
                Claim(
                    f"It was cancelled again at {offset(again[0].ns)}, so {name} did not finish.",
                    (again[0].row, second.wake.row),
                ),
            )
            return Finding(KIND, Reason.CONTROL, claims, (Victim(strand, second.begin.row, -1),))
    return None


def closing_frame(at: tuple[Frame, ...]) -> Frame | None:
    """Return the outermost frame of a stack whose function closes something, by its name; None if there is none."""
    return next((frame for frame in reversed(at) if _name(frame) in _CLOSING), None)


def _name(frame: Frame) -> str:
    name = frame.function.rpartition(".")[2]
    return name if name.endswith("__") else name.lstrip("_")
