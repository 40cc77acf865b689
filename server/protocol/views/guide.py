"""Guides: a few questions, then findings, step by step, each with the view that shows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location

Analysis = Literal["errors", "path", "regression"]


@dataclass(frozen=True)
class WizardParams:
    """Repeated requests: with one more answer until all questions are answered, then for one step after the other."""

    analysis: Analysis
    answers: list[str] = field(default_factory=list)
    """Values of choices, in the order of the questions."""
    step: int = 0
    """The step from 0; used once all questions are answered."""


@dataclass(frozen=True)
class WizardChoice:
    value: str
    title: str
    detail: str = ""


@dataclass(frozen=True)
class WizardQuestion:
    text: str
    choices: list[WizardChoice]
    """The most common choice comes first."""
    hiddenChoices: int = 0
    """Number of omitted, less likely choices."""


@dataclass(frozen=True)
class WizardAnswer:
    question: str
    title: str


@dataclass(frozen=True)
class WizardRow:
    cells: list[str]
    location: Location | None = None
    event: int | None = None
    """An event of the step's run."""


@dataclass(frozen=True)
class WizardStep:
    title: str
    sentence: str
    """The finding."""
    columns: list[str]
    rows: list[WizardRow]
    code: str
    """The query in Python, as in the saved file."""
    run: str = ""
    """The id of the run."""
    view: str = ""
    """The panel's view that shows it, "" for none."""
    params: Any = None
    """The parameters of that view."""
    hiddenRows: int = 0
    """Number of omitted rows."""


@dataclass(frozen=True)
class WizardResult:
    title: str
    asked: list[WizardAnswer]
    question: WizardQuestion | None = None
    """The next question; null once all are answered, then `step` is set."""
    step: WizardStep | None = None
    steps: int = 0
    """Number of steps."""
    saved: str = ""
    """The file of the saved query, with the last step."""
    unsaved: str = ""
    """The reason why the query was not saved."""
    message: str = ""
    """The reason if there is neither a question nor a step, with a remedy."""


METHODS = {
    "clew/wizard": Method(WizardParams, WizardResult, "views.guide:guide"),
}
