"""Performance regression analysis: what became slower since another run, which functions did it, and where to look."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from clew.compare.mutations import Mutations
from clew.records.errors import ClewError
from clew.server import wording
from clew.server.codec import encode
from clew.server.present import places
from clew.server.protocol import CompareParams, DiffParams, LocalizeParams, Location, WizardChoice, WizardRow
from clew.server.session import Task
from clew.server.wizards.analysis import Analysis, Found, Question, location, rows_of, run_choices

if TYPE_CHECKING:
    from clew.graph.query import Run

AROUND = 6
"""Lines of code that are shown before and after a place."""
CHANCES = {
    "0.05": ("at most 5 % by chance", "the usual choice"),
    "0.01": ("at most 1 % by chance", "fewer, and surer"),
    "0.2": ("at most 20 % by chance", "more, to be looked at with doubt"),
}


class Regression(Analysis):
    name: ClassVar[str] = "regression"
    title: ClassVar[str] = "Performance regression analysis"

    def questions(self) -> Sequence[Question]:
        return (
            Question("Which run is it that may have become slower?", self._afters),
            Question("Compared with which run before?", self._befores),
            Question("How sure must a change be to be named?", lambda _task: _chances()),
        )

    def steps(self) -> Sequence[tuple[str, Callable[[Task], Found]]]:
        return (
            ("What changed in requests", self._changes),
            ("Functions that take more time of their own", self._functions),
            ("Suspects from all kinds of evidence", self._suspects),
            ("The code to look at", self._code),
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
            baseline = None  # what was chosen once is no longer there
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
                "One of the runs has no requests, so only functions can be compared; functions that a spec names with "
                "`request` begin one"
            )
        return Found(
            sentence[0].upper() + sentence[1:] + ".",
            ("change", "requests", "how", "costs in all"),
            rows_of(
                changed.rows,
                lambda row: WizardRow([row.kind, row.name, row.sentence(), wording.duration(row.cost_ns)]),
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
        """(function, own time before, after), what grew most first."""
        found = self.before.aggregate("function").diff(self.after.aggregate("function"))
        rows = [(row.label, row.self_before_ns, row.self_after_ns) for row in found.result.rows]
        return sorted(rows, key=lambda row: row[1] - row[2])

    def _functions(self, task: Task) -> Found:
        task.phase("comparing functions")
        grown = [row for row in self._rows if row[2] > row[1]]
        sentence = "No function takes more time of its own."
        if grown:
            label, was, now = grown[0]
            sentence = f"{label} most: {wording.duration(was)} -> {wording.duration(now)} in the whole run."
        return Found(
            sentence,
            ("function", "own time before", "after", "more"),
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
        return WizardRow([label, *map(wording.duration, (was, now, now - was))], self._place(label))

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
            return Found("Nothing became slower whose code is known.")
        text, about = places(self.session, self.after.folder, place.path).as_recorded()
        commits = [run.info.commit[:10] for run in (self.before, self.after)]
        since = f"; `git diff {commits[0]} {commits[1]}` has all that changed" if all(commits) else ""
        lines = (text or "").splitlines()
        first = max(1, place.line - 1)
        return Found(
            f"{wording.place(place.path, place.line, str(self.session.workspace))}{since}."
            + (f" {about}" if about else ""),
            ("line", "code"),
            rows_of(
                range(first, min(len(lines), first + 2 * AROUND) + 1),
                lambda number: WizardRow([str(number), lines[number - 1]], location((place.path, number))),
            ),
        )


def _chances() -> list[WizardChoice]:
    return [WizardChoice(value, title, detail) for value, (title, detail) in CHANCES.items()]
