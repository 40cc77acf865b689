"""Error log analysis: find the errors, the causes of one of them, and the differences between failing and other
requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clew.compare.localize.ranking import localize
from clew.compare.requests.diff import compare
from clew.graph.ops.causes.why import why
from clew.graph.ops.flows.flows import Flows
from clew.records.errors import ClewError
from clew.server.guides.guide import Found, NothingFound, OfOneRun, Question, flows_of, literal, location, rows_of
from clew.server.protocol.codec import encode
from clew.server.protocol.shared import Target
from clew.server.protocol.views.compare import CompareParams
from clew.server.protocol.views.guide import WizardChoice, WizardRow
from clew.server.protocol.views.localize import LocalizeParams
from clew.server.protocol.views.slice import ChainStep, SliceParams
from clew.server.session.session import Task
from clew.server.text import units
from clew.server.text.chain import chain_of
from clew.server.text.events import shorten

if TYPE_CHECKING:
    from clew.graph.model.event import Event
    from clew.query.api import EventQuery

LEVELS = ("ERROR", "WARNING")
"""Log levels to search for; the first level with log lines is used. Without any, functions that raised are used."""
RAISED = "raised"
MAX_TEXT = 120


class Errors(OfOneRun):
    name: ClassVar[str] = "errors"
    title: ClassVar[str] = "Error log analysis"

    def questions(self) -> Sequence[Question]:
        return (
            self.which_run(),
            Question("Which error?", self._choices),
            Question("Which occurrence?", self._occurrences),
        )

    def steps(self) -> Sequence[tuple[str, Callable[[Task], Found]]]:
        return (
            ("Errors of the run", self._groups),
            ("Causes of the error", self._chain),
            ("Root of the causes", self._root),
            ("Differences of failing requests", self._difference),
            ("Suspects", self._suspects),
        )

    # --- what is chosen -----------------------------------------------------------------------------------------------
    @cached_property
    def level(self) -> str:
        """The highest log level that occurs in the run, else `RAISED`."""
        for level in LEVELS:
            if self.run.events.where(kind="log", level__ge=level).count():
                return level
        return RAISED

    @property
    def _all(self) -> EventQuery:
        events = self.run.events
        return events.where(kind="unwind") if self.level == RAISED else events.where(kind="log", level__ge=self.level)

    @property
    def _all_code(self) -> str:
        asked = 'kind="unwind"' if self.level == RAISED else f'kind="log", level__ge={literal(self.level)}'
        return f"errors = run.events.where({asked})"

    def _grouped(self) -> Any:
        """Group the errors by the place that logged them, the most frequent first."""
        groups = self._all.group_by("level", "function", "line")
        return groups.agg(times="count", first=("min", "ts"), last=("max", "ts")).order_by("-times")

    def _at(self, place: str) -> EventQuery:
        function, _, line = place.rpartition(":")
        return self._all.where(function=function, line=int(line))

    def _choices(self, _task: Task) -> list[WizardChoice]:
        rows = list(self._grouped())
        if not rows:
            raise NothingFound(
                f"run {self.run.info.name} has no log line of level WARNING or above, and no recorded function "
                "failed; choose another run, or record more (`clew run --spec`)"
            )
        return [self._choice(row) for row in rows]

    def _choice(self, row: Any) -> WizardChoice:
        place = f"{row.function}:{row.line}"
        example = self._at(place).order_by("-ts").first()
        assert example is not None
        return WizardChoice(place, _text(example), f"{row.times:,} × {row.level or 'an exception'} in {row.function}")

    def _occurrences(self, _task: Task) -> list[WizardChoice]:
        events = self._at(self.answers[1])
        last, first = events.order_by("-ts").first(), events.order_by("ts").first()
        assert last is not None and first is not None
        found = {"last": last, "first": first} if last != first else {"last": last}
        return [
            WizardChoice(which, f"the {which} one", f"{units.offset(event.ts)}: {_text(event)}")
            for which, event in found.items()
        ]

    @cached_property
    def _error(self) -> Event:
        order = "ts" if self.answers[2] == "first" else "-ts"
        event = self._at(self.answers[1]).order_by(order).first()
        if event is None:
            raise ClewError(f"run {self.run.info.name} no longer has this error; start again")
        return event

    # --- the steps ----------------------------------------------------------------------------------------------------
    def _groups(self, _task: Task) -> Found:
        rows = list(self._grouped())
        total = sum(row.times for row in rows)
        what = "exception" if self.level == RAISED else f"log line of level {self.level} or above"
        return Found(
            f"{units.count(total, what)} from {units.count(len(rows), 'place')}.",
            ("times", "level", "where", "first", "last", "for example"),
            rows_of(rows, self._group),
            f"{self._all_code}\n"
            'places = errors.group_by("level", "function", "line")\n'
            'for row in places.agg(times="count", first=("min", "ts"), last=("max", "ts")).order_by("-times"):\n'
            "    print(row.times, row.level, row.function, row.line, row.first, row.last)",
        )

    def _group(self, row: Any) -> WizardRow:
        example = self._at(f"{row.function}:{row.line}").order_by("-ts").first()
        assert example is not None
        cells = [f"{row.times:,}", row.level, f"{units.short_label(row.function)}:{row.line}"]
        cells += [units.offset(row.first), units.offset(row.last), _text(example)]
        return WizardRow(cells, location((example.file, example.line)) if example.file else None, example.id)

    def _chain(self, _task: Task) -> Found:
        graph = self.run.graph
        steps = chain_of(graph, why(graph, self._error.id))
        function, _, line = self.answers[1].rpartition(":")
        order = "ts" if self.answers[2] == "first" else "-ts"
        return Found(
            f"{units.count(len(steps), 'step')} back from “{_text(self._error)}” to its root.",
            ("step", "location and time"),
            rows_of(steps, _step),
            f"chosen = errors.where(function={literal(function)}, line={line})\n"
            f"error = chosen.order_by({literal(order)}).first()\n"
            "for step in error.why():\n    print(step)",
            "slice",
            encode(SliceParams(Target(event=self._error.id), run=self.run.info.id)),
        )

    def _root(self, _task: Task) -> Found:
        graph = self.run.graph
        (step,) = chain_of(graph, why(graph, self._error.id)[-1:])
        return Found(
            f"{step.title[0].upper()}{step.title[1:]}, {units.duration(self._error.ts - step.timeNs)} before the error.",
            ("origin", "location and time"),
            rows_of([step], _step),
            "root = error.why()[-1]\nprint(root, error.ts - root.ts)",
            "slice",
            encode(SliceParams(Target(event=step.event), run=self.run.info.id, direction="forward")),
        )

    def _sides(self, task: Task) -> tuple[Flows, Flows] | None:
        """Return the requests that failed and the other requests of the same names, or None if either set is empty."""
        flows = flows_of(self.run, task)
        failed = flows.errors > 0
        alike = np.isin(flows.name, np.unique(flows.name[failed]))
        sides = flows.take(failed), flows.take(alike & ~failed)
        return sides if all(len(side) for side in sides) else None

    _SIDES_CODE = (
        "flows = run.requests.flows()\n"
        "failed = flows.errors > 0\n"
        "alike = np.isin(flows.name, flows.name[failed])\n"
        "failing, others = flows.take(failed), flows.take(alike & ~failed)\n"
    )
    _NO_SIDES = (
        "No kind of request has both failing and successful requests, so there is nothing to compare. Mark the functions "
        "that begin requests in a spec with `request`."
    )

    def _difference(self, task: Task) -> Found:
        sides = self._sides(task)
        if sides is None:
            return Found(self._NO_SIDES)
        failing, others = sides
        changed = compare(others, failing, more=1)
        differ = f"their flows differ: {changed.rows[0].sentence()}" if changed.rows else "they make the same calls"
        return Found(
            f"{units.count(len(failing), 'request')} failed, {len(others):,} of the same kind did not; {differ}.",
            ("change", "how", "other differences"),
            rows_of(
                changed.rows,
                lambda row: WizardRow(
                    [row.kind, row.sentence(), "; ".join(each.sentence() for each in changed.differences(row).rows)]
                ),
            ),
            f"{self._SIDES_CODE}"
            "changed = compare(others, failing, more=1)\n"
            "print(len(failing), len(others), changed.sentence())\n"
            "for row in changed.rows:\n"
            "    print(row.sentence(), [each.sentence() for each in changed.differences(row).rows])",
            "compare",
            self._compare_params(failing),
        )

    def _compare_params(self, failing: Flows) -> Any:
        """Compare a single failing request with a typical one. A comparison of several requests needs two runs."""
        run = self.run.info.id
        return encode(CompareParams([f"{run}@typical"], [f"{run}@{int(failing.request[0])}"]))

    def _suspects(self, task: Task) -> Found:
        sides = self._sides(task)
        if sides is None:
            return Found(self._NO_SIDES)
        found = localize(*sides)
        return Found(
            found.sentence()[0].upper() + found.sentence()[1:] + ".",
            ("bits", "suspect", "reason"),
            rows_of(
                found.suspects,
                lambda suspect: WizardRow([f"{suspect.score:.1f}", suspect.place, suspect.sentence()]),
            ),
            "found = localize(failing, others)\n"
            "print(found.sentence())\n"
            "for suspect in found.suspects:\n"
            "    print(suspect.score, suspect.place, suspect.sentence())",
            "suspects",
            encode(LocalizeParams([self.run.info.id])),
        )


def _step(step: ChainStep) -> WizardRow:
    return WizardRow([step.title, step.detail], step.location, step.event)


def _text(event: Event) -> str:
    text = event.text.strip().splitlines()
    return shorten(text[0], MAX_TEXT) if text else f"exception in {units.short_label(event.function)}"
