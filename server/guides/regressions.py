"""Performance regression analysis: changes since another run, the functions responsible, and the code to inspect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from clew.compare.requests.diff import Mutations
from clew.records.errors import ClewError
from clew.server.guides.guide import Analysis, Found, Question, location, rows_of, run_choices
from clew.server.locations.line_mapping import places
from clew.server.protocol.codec import encode
from clew.server.protocol.shared import Location
from clew.server.protocol.views.compare import CompareParams
from clew.server.protocol.views.diff import DiffParams
from clew.server.protocol.views.guide import WizardChoice, WizardRow
from clew.server.protocol.views.localize import LocalizeParams
from clew.server.session.session import Task
from clew.server.text import units

if TYPE_CHECKING:
    from clew.query.api import Run

AROUND = 6
"""Number of code lines that are shown before and after a location."""
CHANCES = {
    "0.05": ("at most 5 % by chance", "the usual choice"),
    "0.01": ("at most 1 % by chance", "fewer changes, more certain"),
    "0.2": ("at most 20 % by chance", "more changes, less certain"),
}


class Regression(Analysis):
    name: ClassVar[str] = "regression"
    title: ClassVar[str] = "Performance regression analysis"

    def questions(self) -> Sequence[Question]:
        return (
            Question("Which run may be slower?", self._afters),
            Question("Which earlier run to compare with?", self._befores),
            Question("How certain must a change be?", lambda _task: _chances()),
        )

    def steps(self) -> Sequence[tuple[str, Callable[[Task], Found]]]:
        return (
            ("Changed requests", self._changes),
            ("Functions with more self time", self._functions),
            ("Suspects from all evidence", self._suspects),
            ("Code to inspect", self._code),
        )

    def preamble(self) -> str:
        return f"{self.opening('after', 0)}\n{self.opening('before', 1)}"

    # --- what is chosen -----------------------------------------------------------------------------------------------
    def _afters(self, _task: Task) -> list[WizardChoice]:
        return run_choices(self.session, self.session.runs().selected)

    def _befores(self, _task: Task) -> list[WizardChoice]:
        try:
            baseline = self.session.baseline(self.answers[0])
        except ClewError:
            baseline = None  # the previous choice no longer exists
        return run_choices(self.session, baseline.runs[0] if baseline else "", without=self.answers[0])

    @property
    def after(self) -> Run:
        return self.chosen(0)

    @property
    def before(self) -> Run:
        return self.chosen(1)

    @property
    def _alpha(self) -> float:
        return float(self.answers[2]) if self.answers[2] in CHANCES else 0.05

    @cached_property
    def _changed(self) -> Mutations:
        found: Mutations = self.before.requests.diff(self.after.requests, alpha=self._alpha)
        return found

    # --- the steps ----------------------------------------------------------------------------------------------------
    def _changes(self, task: Task) -> Found:
        task.phase("comparing requests")
        changed = self._changed
        sentence = changed.sentence()
        if not changed.before or not changed.after:
            sentence = (
                "One of the runs has no requests, so only functions can be compared. Mark the functions that begin "
                "requests in a spec with `request`"
            )
        return Found(
            sentence[0].upper() + sentence[1:] + ".",
            ("change", "requests", "how", "total cost"),
            rows_of(
                changed.rows,
                lambda row: WizardRow([row.kind, row.name, row.sentence(), units.duration(row.cost_ns)]),
            ),
            f"changed = before.requests.diff(after.requests, alpha={self._alpha})\n"
            "print(changed.sentence())\n"
            "for row in changed.rows:\n"
            "    print(row.kind, row.name, row.cost_ns, row.sentence())",
            "compare",
            encode(CompareParams([self.before.info.id], [self.after.info.id])),
        )

    @cached_property
    def _rows(self) -> list[tuple[str, float, float]]:
        """Return (function, self time before, after), sorted by the largest growth."""
        found = self.before.aggregate("function").diff(self.after.aggregate("function"))
        rows = [(row.label, row.self_before_ns, row.self_after_ns) for row in found.result.rows]
        return sorted(rows, key=lambda row: row[1] - row[2])

    def _functions(self, task: Task) -> Found:
        task.phase("comparing functions")
        grown = [row for row in self._rows if row[2] > row[1]]
        sentence = "No function has more self time."
        if grown:
            label, was, now = grown[0]
            sentence = f"{label} most: {units.duration(was)} -> {units.duration(now)} in the whole run."
        return Found(
            sentence,
            ("function", "self time before", "after", "more"),
            rows_of(grown, self._grown),
            'functions = before.aggregate("function").diff(after.aggregate("function")).result.rows\n'
            "for row in sorted(functions, key=lambda row: -row.delta_ns):\n"
            "    if row.delta_ns > 0:\n"
            "        print(row.label, row.self_before_ns, row.self_after_ns)",
            "diff",
            encode(DiffParams(self.before.info.id, self.after.info.id)),
        )

    def _grown(self, row: tuple[str, float, float]) -> WizardRow:
        label, was, now = row
        return WizardRow([label, *map(units.duration, (was, now, now - was))], self._place(label))

    def _place(self, label: str) -> Location | None:
        sites = [site for site in self.after.graph.sites if site.label == label and site.file]
        return location((sites[0].file, sites[0].line)) if sites else None

    def _suspects(self, task: Task) -> Found:
        task.phase("weighing evidence")
        found = self.after.requests.localize(self.before.requests)
        return Found(
            found.sentence()[0].upper() + found.sentence()[1:] + ".",
            ("bits", "suspect", "reason"),
            rows_of(
                found.suspects,
                lambda suspect: WizardRow(
                    [f"{suspect.score:.1f}", suspect.place, suspect.sentence()], self._place(suspect.method)
                ),
            ),
            "found = after.requests.localize(before.requests)\n"
            "print(found.sentence())\n"
            "for suspect in found.suspects:\n"
            "    print(suspect.score, suspect.place, suspect.sentence())",
            "suspects",
            encode(LocalizeParams([self.after.info.id], [self.before.info.id])),
        )

    def _code(self, _task: Task) -> Found:
        edges = [edge.target for row in self._changed.rows for edge in row.edges]
        grown = [label for label, was, now in self._rows if now > was]
        place = next((found for label in (*edges, *grown) if (found := self._place(label))), None)
        if place is None:
            return Found("No function with known source became slower.")
        text, about = places(self.session, self.after.folder, place.path).as_recorded()
        commits = [run.info.commit[:10] for run in (self.before, self.after)]
        since = f"; `git diff {commits[0]} {commits[1]}` shows all changes" if all(commits) else ""
        lines = (text or "").splitlines()
        first = max(1, place.line - 1)
        return Found(
            f"{units.place(place.path, place.line, str(self.session.workspace))}{since}."
            + (f" {about}" if about else ""),
            ("line", "code"),
            rows_of(
                range(first, min(len(lines), first + 2 * AROUND) + 1),
                lambda number: WizardRow([str(number), lines[number - 1]], location((place.path, number))),
            ),
        )


def _chances() -> list[WizardChoice]:
    return [WizardChoice(value, title, detail) for value, (title, detail) in CHANCES.items()]
