"""Critical path analysis: select requests and show where their time goes, what they wait for, and what would make them
faster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from clew.graph.ops.flows.flows import Flows
from clew.query.results import PathQuery
from clew.records.errors import ClewError
from clew.server.guides.guide import (
    Found,
    NothingFound,
    OfOneRun,
    Question,
    Rows,
    flows_of,
    literal,
    location,
    rows_of,
)
from clew.server.protocol.codec import encode
from clew.server.protocol.shared import Target
from clew.server.protocol.views.critical_path import CriticalPathParams
from clew.server.protocol.views.guide import WizardChoice, WizardRow
from clew.server.session.session import Task
from clew.server.text import units

if TYPE_CHECKING:
    from clew.graph.ops.timing.critical_path import Segment

QUANTILES = {"slowest": 1.0, "p95": 0.95, "typical": 0.5}
PATHS = 50
"""The number of slowest requests whose paths are added up."""
FASTER = 50.0
"""The assumed speed-up of a function, in percent."""
ASKED = 3
"""The number of functions with a what-if estimate."""


class Paths(OfOneRun):
    name: ClassVar[str] = "path"
    title: ClassVar[str] = "Critical path analysis"

    def questions(self) -> Sequence[Question]:
        return (
            self.which_run(),
            Question("Which requests?", self._names),
            Question("Which request?", self._which),
        )

    def steps(self) -> Sequence[tuple[str, Callable[[Task], Found]]]:
        return (
            ("Response times", self._times),
            ("Critical path", self._path),
            ("Waiting", self._waits),
            ("Critical paths of the slowest requests", self._together),
            ("What-if estimates", self._what_if),
        )

    # --- what is chosen -----------------------------------------------------------------------------------------------
    def _flows(self, task: Task) -> Flows:
        """Return the flows of the selected name."""
        flows = flows_of(self.run, task)
        return flows.take(flows.name == flows.names.index(self.answers[1]))

    def _names(self, task: Task) -> list[WizardChoice]:
        flows = flows_of(self.run, task)
        if not len(flows):
            raise NothingFound(
                f"run {self.run.info.name} has no requests; mark the function that one begins with in the spec, `request "
                "MODULE:FUNCTION as NAME;`, or record tests with `pytest --clew`"
            )
        spent = np.bincount(flows.name, flows.response_ns, len(flows.names))
        many = np.bincount(flows.name, minlength=len(flows.names))
        return [
            WizardChoice(
                flows.names[name],
                flows.names[name],
                f"{units.count(int(many[name]), 'request')}, {units.duration(spent[name])} in all",
            )
            for name in np.argsort(-spent, kind="stable").tolist()
            if many[name]
        ]

    def _which(self, task: Task) -> list[WizardChoice]:
        flows = self._flows(task)
        return [
            WizardChoice(which, which, units.duration(int(flows.response_ns[_nearest(flows, share)])))
            for which, share in QUANTILES.items()
        ]

    @cached_property
    def _chosen(self) -> int:
        """The REQUEST event of the selected request."""
        flows = self._flows(Task())
        if not len(flows) or self.answers[2] not in QUANTILES:
            raise ClewError(f"run {self.run.info.name} no longer has these requests; start again")
        return int(flows.request[_nearest(flows, QUANTILES[self.answers[2]])])

    def _path_of(self, event: int) -> PathQuery:
        return self.run.requests.where(id=event).slice().critical_path("function")

    @cached_property
    def _segments(self) -> list[Segment]:
        return list(self._path_of(self._chosen))

    # --- the steps ----------------------------------------------------------------------------------------------------
    def _times(self, task: Task) -> Found:
        flows = self._flows(task)
        quantiles = [float(np.quantile(flows.response_ns, share)) for share in (0.5, 0.95, 1.0)]
        cells = [f"{len(flows):,}", *map(units.duration, quantiles)]
        name = self.answers[1]
        return Found(
            f"{units.count(len(flows), 'request')} {name}: median {cells[1]}, slowest {cells[3]}.",
            ("requests", "p50", "p95", "slowest"),
            rows_of([cells], WizardRow),
            f"name = {literal(name)}\n"
            "flows = run.requests.named(name).flows()\n"
            "print(len(flows), [float(np.quantile(flows.response_ns, share)) for share in (0.5, 0.95, 1.0)])",
        )

    def _path(self, _task: Task) -> Found:
        total = sum(segment.self_ns + segment.wait_ns for segment in self._segments)
        largest = sorted(self._segments, key=lambda segment: -(segment.self_ns + segment.wait_ns))
        limits = "".join(f"{limit} " for limit in self._path_of(self._chosen).result.limits)
        return Found(
            f"{limits}{units.duration(total)} in {units.count(len(self._segments), 'segment')}, "
            f"{units.percent(sum(segment.wait_ns for segment in self._segments) / max(total, 1))} of it waiting; the "
            "largest:",
            ("function", "work", "waiting", "share"),
            rows_of(largest, self._row),
            f"path = run.requests.where(id={self._chosen}).slice().critical_path()\n"
            "print(path.total_ns)\n"
            "for segment in sorted(path, key=lambda segment: -(segment.self_ns + segment.wait_ns)):\n"
            "    print(segment.label, segment.self_ns, segment.wait_ns)",
            "path",
            encode(CriticalPathParams(Target(event=self._chosen), run=self.run.info.id)),
        )

    def _row(self, segment: Segment) -> WizardRow:
        total = sum(one.self_ns + one.wait_ns for one in self._segments)
        graph = self.run.graph
        cells = [segment.label, units.duration(segment.self_ns), units.duration(segment.wait_ns)]
        cells.append(units.percent((segment.self_ns + segment.wait_ns) / max(total, 1)))
        return WizardRow(cells, location(graph.location(segment.first_event)), segment.first_event)

    def _waits(self, _task: Task) -> Found:
        waits = [segment for segment in self._segments if segment.wait_ns > 0]
        total = sum(segment.wait_ns for segment in waits)
        by_label = Counter[str]()
        for segment in waits:
            by_label[segment.label] += segment.wait_ns
        sentence = "The path contains no waiting."
        if waits:
            first, most = by_label.most_common(1)[0]
            sentence = f"{units.duration(total)} of waiting, most of it in {first} ({units.duration(most)})."
        return Found(
            sentence,
            ("function", "waiting", "share of waiting"),
            _shares(by_label),
            "waiting = Counter()\n"
            "for segment in path:\n"
            "    waiting[segment.label] += segment.wait_ns\n"
            "print(waiting.most_common())",
        )

    def _together(self, task: Task) -> Found:
        flows = self._flows(task)
        slowest = np.argsort(-flows.response_ns, kind="stable")[:PATHS]
        spent: Counter[str] = Counter()
        for number, event in enumerate(flows.request[slowest].tolist(), 1):
            task.phase(f"critical path {number} of {len(slowest)}")
            for segment in self._path_of(event):
                spent[segment.label] += segment.self_ns + segment.wait_ns
        first = spent.most_common(1)
        return Found(
            f"{first[0][0]} has the largest share of the {units.count(len(slowest), 'slowest request')}."
            if first
            else f"The paths of the {units.count(len(slowest), 'slowest request')} are empty.",
            ("function", "time", "share"),
            _shares(spent),
            "spent = Counter()\n"
            f"slowest = np.argsort(-flows.response_ns, kind='stable')[:{PATHS}]\n"
            "for event in flows.request[slowest].tolist():\n"
            "    for segment in run.requests.where(id=event).slice().critical_path():\n"
            "        spent[segment.label] += segment.self_ns + segment.wait_ns\n"
            "print(spent.most_common())".replace("'stable'", '"stable"'),
        )

    def _what_if(self, _task: Task) -> Found:
        path = self._path_of(self._chosen)
        work: Counter[str] = Counter()
        for segment in self._segments:
            work[segment.label] += segment.self_ns
        answers = [path.what_if(label, FASTER) for label, ns in work.most_common(ASKED) if ns]
        answers.sort(key=lambda answer: -answer.saved_ns)
        sentence = "No function on the path does any work."
        if answers:
            best = answers[0]
            sentence = (
                f"{FASTER:.0f} % faster, {best.label} saves {units.duration(best.saved_ns)}, "
                f"{units.percent(best.saved_ns / max(best.total_ns, 1))} of the request."
            )
        return Found(
            sentence,
            (f"{FASTER:.0f} % faster", "saves", "share", "new duration"),
            rows_of(
                answers,
                lambda answer: WizardRow(
                    [
                        answer.label,
                        units.duration(answer.saved_ns),
                        units.percent(answer.saved_ns / max(answer.total_ns, 1)),
                        units.duration(answer.after_ns),
                    ]
                ),
            ),
            "work = Counter()\n"
            "for segment in path:\n"
            "    work[segment.label] += segment.self_ns\n"
            f"for label, _ in work.most_common({ASKED}):\n"
            f"    print(path.what_if(label, {FASTER}))",
        )


def _nearest(flows: Flows, share: float) -> int:
    """Return the request at a quantile of all response times."""
    order = np.argsort(flows.response_ns, kind="stable")
    return int(order[round(share * (len(order) - 1))])


def _shares(spent: Counter[str]) -> Rows:
    """Return rows with each label's share of the total, the largest first."""
    total = max(spent.total(), 1)
    return rows_of(
        spent.most_common(),
        lambda one: WizardRow([one[0], units.duration(one[1]), units.percent(one[1] / total)]),
    )
