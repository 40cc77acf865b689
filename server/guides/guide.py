"""The building blocks of a guide: up to three questions, then steps. Each step finds something and shows the Python
code of its query.

Invariant: a step's code, run after the code of the steps before it, prints the step's numbers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from clew.graph.ops.flows.flows import Flows
from clew.records.errors import ClewError
from clew.server.protocol.shared import Location, RunRef
from clew.server.protocol.views.guide import WizardChoice, WizardQuestion, WizardRow, WizardStep
from clew.server.session.session import Session, Task, is_snapshot
from clew.server.text import units

if TYPE_CHECKING:
    from clew.query.api import Run

MAX_CHOICES = 20
MAX_ROWS = 20


T = TypeVar("T")


class NothingFound(ClewError):
    """The run has no data for this guide. The message states the reason and a remedy."""


@dataclass(frozen=True)
class Rows:
    """The first rows that a step found."""

    shown: list[WizardRow] = field(default_factory=list)
    hidden: int = 0
    """Number of further rows."""


def rows_of(things: Sequence[T], row: Callable[[T], WizardRow]) -> Rows:
    """Return the first `MAX_ROWS` rows; `row` is called only for these."""
    return Rows([row(thing) for thing in things[:MAX_ROWS]], max(len(things) - MAX_ROWS, 0))


@dataclass(frozen=True)
class Found:
    """The result of a step before it is encoded for the wire."""

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
    """Returns the choices, the likeliest first. Raises `NothingFound`."""


class Analysis(ABC):
    """One analysis of one session, with the answers so far. The results of a step are cached for the steps that follow."""

    name: ClassVar[str]
    title: ClassVar[str]

    def __init__(self, session: Session, answers: Sequence[str]) -> None:
        self.session = session
        self.answers = list(answers)
        self.snapshots: dict[int, Run] = {}
        """Snapshots of live runs by the number of the question, taken when the run was first read."""

    @abstractmethod
    def questions(self) -> Sequence[Question]: ...

    @abstractmethod
    def steps(self) -> Sequence[tuple[str, Callable[[Task], Found]]]:
        """Return the title and the work of each step."""

    @abstractmethod
    def preamble(self) -> str:
        """Return the first lines of the saved query, before the steps' code."""

    def chosen(self, number: int) -> Run:
        """Return the run that a question was answered with. For a live run it returns one snapshot, so that all steps
        describe the same events."""
        run = self.snapshots.get(number) or self.session.snapshot(self.answers[number], Task())
        if is_snapshot(run):
            self.snapshots[number] = run
        return run

    def opening(self, name: str, number: int) -> str:
        """Return the line of a query that opens that run."""
        line = f"{name} = clew.open({literal(self.answers[number])})"
        if not is_snapshot(self.chosen(number)):
            return line
        what = f"# The run was still live. The results below are of {self.chosen(number).info.name};"
        return f"{what}\n# the run may have more events since then, with different numbers.\n{line}"

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
    """An analysis whose first question selects the run."""

    @property
    def run(self) -> Run:
        return self.chosen(0)

    def which_run(self) -> Question:
        return Question("Which run?", lambda _task: run_choices(self.session, self.session.runs().selected))

    def preamble(self) -> str:
        return self.opening("run", 0)


def run_choices(session: Session, first: str = "", without: str = "") -> list[WizardChoice]:
    """Return the workspace's runs: `first` at the front, the others newest first. Raises `NothingFound`."""
    runs = [run for run in session.runs().runs if run.id != without]
    if not runs:
        other, one = ("other ", "another one") if without else ("", "one")
        raise NothingFound(f"no {other}run yet; record {one}: `clew run -- python your_program.py`")
    runs.sort(key=lambda run: run.id != first)
    return [WizardChoice(run.id, run.name, _about(run)) for run in runs]


def _about(run: RunRef) -> str:
    ended = "still running" if not run.finished else "" if not run.exitCode else f"exit code {run.exitCode}"
    return " · ".join(filter(None, [units.when(int(run.started * 1_000_000)), run.commit, ended]))


def location(place: tuple[str, int] | None) -> Location | None:
    return Location(place[0], place[1]) if place else None


def flows_of(run: Run, task: Task) -> Flows:
    task.phase(f"following the requests of {run.info.name}")
    return run.requests.flows()


def literal(value: object) -> str:
    """Return the Python literal of a value, with the quotes that this project uses."""
    if isinstance(value, str) and '"' not in value and "\\" not in repr(value):
        return f'"{repr(value)[1:-1]}"'
    return repr(value)
