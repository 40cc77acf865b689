"""Guided analyses: a few questions, then what was found, step by step, each with where it can be looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from clew.server.protocol.shared import Location

Analysis = Literal["errors", "path", "regression"]


@dataclass(frozen=True)
class WizardParams:
    """Asked again and again: with more answers until there is no more question, then for one step after the other."""

    analysis: Analysis
    answers: list[str] = field(default_factory=list)
    """Values of choices, in the order of the questions."""
    step: int = 0
    """From 0; counts once all questions are answered."""


@dataclass(frozen=True)
class WizardChoice:
    value: str
    title: str
    detail: str = ""


@dataclass(frozen=True)
class WizardQuestion:
    text: str
    choices: list[WizardChoice]
    """The first is what most would choose."""
    hiddenChoices: int = 0
    """Less likely ones that were left out."""


@dataclass(frozen=True)
class WizardAnswer:
    question: str
    title: str


@dataclass(frozen=True)
class WizardRow:
    cells: list[str]
    location: Location | None = None
    event: int | None = None
    """Of the step's run."""


@dataclass(frozen=True)
class WizardStep:
    title: str
    sentence: str
    """What was found."""
    columns: list[str]
    rows: list[WizardRow]
    code: str
    """The question in Python, as the saved query asks it."""
    run: str = ""
    """By id."""
    view: str = ""
    """The panel's view that shows it, "" for none."""
    params: Any = None
    """What that view is asked."""
    hiddenRows: int = 0
    """Those after the last one, that were left out."""


@dataclass(frozen=True)
class WizardResult:
    title: str
    asked: list[WizardAnswer]
    question: WizardQuestion | None = None
    """Null once all are answered; then there is a step."""
    step: WizardStep | None = None
    steps: int = 0
    """How many there are."""
    saved: str = ""
    """With the last step: the file of the query."""
    unsaved: str = ""
    """Or why there is none."""
    message: str = ""
    """Why there is neither, with what to do."""
