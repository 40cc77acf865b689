"""Why something did not happen: the answer of `clew.graph.ops.answer.comparison` as plain data, for the command line."""

from __future__ import annotations

from dataclasses import dataclass

from clew.graph.ops.answer.answer import Answer
from clew.graph.ops.answer.comparison.absence import absence
from clew.query.api import Run
from clew.server.protocol.shared import RunRef
from clew.server.session.session import Session, Task
from clew.server.text.answer import certainty_of, sentence


@dataclass(frozen=True)
class AbsenceClaim:
    text: str
    events: list[int]


@dataclass(frozen=True)
class AbsenceAnswer:
    run: RunRef
    text: str
    """What was asked for."""
    event: int
    """Where the execution parted from like ones, or where the text happened."""
    verdict: list[AbsenceClaim]
    certainty: str
    """"recorded", "inferred" or "unknown"."""
    basis: str
    sure: str
    """How sure the verdict is, in words: `inferred from ...`."""
    remedy: str
    diagnosis: str
    """The kind of the finding that is part of the verdict, "" for none."""
    limits: list[str]
    """Sentences about what clew does not follow."""


@dataclass(frozen=True)
class AbsenceQuestion:
    text: str
    event: int | None = None
    request: str = ""
    run: str = ""
    baseline: str = ""


def explain_absence(session: Session, asked: AbsenceQuestion, task: Task) -> tuple[Run, AbsenceAnswer]:
    """Answer why a text or a function did not happen. Raises `ClewError` for an unknown run or event."""
    from clew.server.views.target import NothingFound

    run = session.open(asked.run, task)
    if asked.event is not None and not 0 <= asked.event < len(run.graph):
        raise NothingFound(f"run {run.info.name} has no event {asked.event}")
    baseline = session.open(asked.baseline, task) if asked.baseline else None
    found = absence(run, asked.text, event=asked.event, request=asked.request, baseline=baseline)
    return run, _told(session, run, asked.text, found)


def _told(session: Session, run: Run, text: str, found: Answer) -> AbsenceAnswer:
    return AbsenceAnswer(
        session.ref(run),
        text,
        found.event,
        [AbsenceClaim(sentence(claim.text), list(claim.events)) for claim in found.verdict],
        found.certainty,
        found.basis,
        certainty_of(found),
        found.remedy,
        found.finding.kind if found.finding else "",
        [sentence(limit) for limit in found.limits],
    )
