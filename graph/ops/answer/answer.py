"""Answer why an event happened: a verdict in one to three sentences, what it follows from, and at most twelve steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason

MOST_STEPS = 12


@dataclass(frozen=True)
class AnswerStep:
    """One step back from the event."""

    event: int
    reason: Reason
    text: str
    group: str
    """The request or task that the step belongs to: `in GET /items/sku-7, 30 ms earlier`."""
    folded: int = 0
    """The number of steps inside libraries that this step stands for."""


@dataclass(frozen=True)
class Answer:
    """The answer to *why did this event happen*."""

    event: int
    verdict: tuple[Claim, ...]
    """One to three sentences; never empty."""
    certainty: Literal["recorded", "inferred", "unknown"]
    basis: str = ""
    """For an inferred verdict, what it was inferred from; for an unknown one, what was not recorded."""
    remedy: str = ""
    """For an unknown verdict, a command that records what is missing; else ""."""
    finding: Finding | None = None
    """The diagnosis behind the verdict, None if the verdict tells the chain."""
    steps: tuple[AnswerStep, ...] = ()
    more_steps: int = 0
    """The number of steps that `steps` leaves out."""
    others: tuple[Finding, ...] = ()
    """Other findings of the run that may concern the event."""
    limits: tuple[str, ...] = ()
    """What execution passed through without being followed, as sentences."""

    @property
    def text(self) -> str:
        """The verdict as one paragraph."""
        return " ".join(claim.text for claim in self.verdict)


def answer(graph: ExecutionGraph, event: int) -> Answer:
    """Answer why an event happened."""
    raise NotImplementedError
