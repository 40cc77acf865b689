"""What a guided analysis is made of: at most three questions, then steps; each step finds something and says how to ask for it
in Python.

Invariant: a step's code, run after that of the steps before it, prints the step's figures.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from clew.graph.ops.flows import Flows
from clew.records.errors import ClewError
from clew.server import wording
from clew.server.protocol import Location, RunRef, WizardChoice, WizardQuestion, WizardRow, WizardStep
from clew.server.session import Session, Task, is_look

if TYPE_CHECKING:
    from clew.graph.query import Run

MAX_CHOICES = 20
MAX_ROWS = 20


T = TypeVar("T")


class NothingFound(ClewError):
    """There is nothing to analyse; the message says why, and what to do."""


@dataclass(frozen=True)
class Rows:
    """The first of what a step found."""

    shown: list[WizardRow] = field(default_factory=list)
    hidden: int = 0
    """How many more there are."""


def rows_of(things: Sequence[T], row: Callable[[T], WizardRow]) -> Rows:
    """The first `MAX_ROWS`, of which alone rows are made."""
    return Rows([row(thing) for thing in things[:MAX_ROWS]], max(len(things) - MAX_ROWS, 0))


@dataclass(frozen=True)
class Found:
    """What a step says, before it is made ready for the wire."""

    sentence: str
    columns: Sequence[str] = ()
    rows: Rows = Rows()
    code: str = ""
    view: str = ""
    params: Any = None


@dataclass(frozen=True)
class Question:
    text: str
    choices: Callable[[Task], list[WizardChoice]]
    """The likeliest first. Raises `NothingFound`."""


class Analysis(ABC):
    """One analysis of one session, with the answers so far; what its steps find out is kept for those that follow."""

    name: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, session: Session, answers: Sequence[str]) -> None:
        self.session = session
        self.answers = list(answers)
        self.looks: dict[int, Run] = {}
        """What was recorded of runs that go on when they were first looked at, by the number of the question."""

    @abstractmethod
    def questions(self) -> Sequence[Question]: ...

    @abstractmethod
    def steps(self) -> Sequence[tuple[str, Callable[[Task], Found]]]:
        """Title and work of each."""

    @abstractmethod
    def preamble(self) -> str:
        """The first lines of the saved query, before the steps' code."""

    def chosen(self, number: int) -> Run:
        """The run that a question was answered with; of one that goes on all steps tell of the same events."""
        run = self.looks.get(number) or self.session.hold(self.answers[number], Task())
        if is_look(run):
            self.looks[number] = run
        return run

    def opening(self, name: str, number: int) -> str:
        """The line of a query that opens that run."""
        line = f"{name} = clew.open({literal(self.answers[number])})"
        if not is_look(self.chosen(number)):
            return line
        what = f"# It was still recorded. What is found below was found in {self.chosen(number).info.name};"
        return f"{what}\n# by now there may be more, and its events may have other numbers.\n{line}"

    def question(self, number: int, task: Task) -> WizardQuestion:
        asked = self.questions()[number]
        choices = asked.choices(task)
        return WizardQuestion(asked.text, choices[:MAX_CHOICES], max(len(choices) - MAX_CHOICES, 0))

    def step(self, number: int, task: Task) -> WizardStep:
        title, work = self.steps()[number]
        task.phase(title)
        found = work(task)
        return WizardStep(
            title, found.sentence, list(found.columns), found.rows.shown, found.code,
            view=found.view, params=found.params, hiddenRows=found.rows.hidden,
        )  # fmt: skip


class OfOneRun(Analysis):
    """An analysis whose first question is which run."""

    @property
    def run(self) -> Run:
        return self.chosen(0)

    def which_run(self) -> Question:
        return Question("Which run?", lambda _task: run_choices(self.session, self.session.runs().selected))

    def preamble(self) -> str:
        return self.opening("run", 0)


def run_choices(session: Session, first: str = "", without: str = "") -> list[WizardChoice]:
    """The workspace's runs, newest first but for the one to begin with. Raises `NothingFound`."""
    runs = [run for run in session.runs().runs if run.id != without]
    if not runs:
        other, one = ("other ", "another one") if without else ("", "one")
        raise NothingFound(f"there is no {other}run yet; record {one}: `clew run -- python your_program.py`")
    runs.sort(key=lambda run: run.id != first)
    return [WizardChoice(run.id, run.name, _about(run)) for run in runs]


def _about(run: RunRef) -> str:
    ended = "still running" if not run.finished else "" if not run.exitCode else f"exit code {run.exitCode}"
    return " · ".join(filter(None, [wording.when(int(run.started * 1_000_000)), run.commit, ended]))


def location(place: tuple[str, int] | None) -> Location | None:
    return Location(place[0], place[1]) if place else None


def flows_of(run: Run, task: Task) -> Flows:
    task.phase(f"following the requests of {run.info.name}")
    return run.requests.flows()


def literal(value: object) -> str:
    """As Python writes it, with the quotes that this project uses."""
    if isinstance(value, str) and '"' not in value and "\\" not in repr(value):
        return f'"{repr(value)[1:-1]}"'
    return repr(value)
