"""The comparison of runs by the flows of their requests: the changes, and one category's flows as one graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from clew.compare.requests.call_changes import EdgeChange
from clew.compare.requests.decision_tree import Difference
from clew.compare.requests.diff import Mutation
from clew.compare.requests.precursors import Precursor
from clew.graph.model.levels import level_names
from clew.graph.ops.flows.columns import CategoryKey
from clew.records.errors import ClewError
from clew.server.protocol.shared import Location, RunRef
from clew.server.protocol.views.compare import (
    CompareCall,
    CompareDifference,
    CompareGraph,
    CompareParams,
    ComparePrecursor,
    CompareResult,
    CompareRow,
)
from clew.server.session.answer_process import answered
from clew.server.session.session import Session, Task
from clew.server.text.events import shorten
from clew.server.views.compare.graph import LOCATED, union_graph
from clew.server.views.compare.sides import Chosen, Compared, compared, whole_runs
from clew.server.views.slice.view import EVENT

MAX_ROWS = 5000
MAX_NAMES = 300
"""Maximum number of request names; the most frequent ones."""
MAX_DETAILS = 50
"""Maximum number of calls, of precursors and of differences in one row; the most informative ones."""
MAX_FLOW = 2000
"""Maximum characters of a flow."""
EXPLAINED = 10
"""Number of rows with differences in addition to their calls: the first ones, and the graph's row."""


def compare_view(session: Session, params: CompareParams, task: Task) -> CompareResult:
    """Raises `ClewError` for an unknown run, request, category or level."""
    if params.level == EVENT:
        raise ClewError(
            'requests have no events in common; compare them at "function", "class", "module" or "component"'
        )
    found = compared(session, params, task)
    task.phase("explaining")
    mutations = found.mutations
    rows = _Rows(found, params)
    limit = max(1, min(params.maxRows, MAX_ROWS))
    shown = list(rows.changed())[:limit]
    shown += list(rows.unchanged(limit - len(shown)))
    category = params.category or rows.first() or (shown[0].category if shown else "")
    levels = level_names(found.before[0].run.graph)
    names = found.names
    return CompareResult(
        before=_refs(session, found.before),
        after=_refs(session, found.after),
        level=params.level,
        levels=[name for name in levels if name != EVENT],
        names=sorted(names[:MAX_NAMES]),
        hiddenNames=max(len(names) - MAX_NAMES, 0),
        sentence=mutations.sentence(),
        explanation=mutations.explain(),
        thresholds=params.thresholds,
        requestsBefore=mutations.before,
        requestsAfter=mutations.after,
        categories=mutations.categories,
        tested=mutations.tested,
        rows=shown,
        hiddenRows=len(mutations.rows) + mutations.categories - len(mutations.flagged) - len(shown),
        graph=_graph(found, rows, category, params) if category else None,
        message=_message(found),
        certainty=mutations.certainty(),
    )


def _message(found: Compared) -> str:
    if not found.mutations.before and not found.mutations.after:
        runs = sorted({each.run.info.name for each in (*found.before, *found.after)})
        return (
            f"There are no requests in {' and '.join(runs)}. Mark the function that a request begins with in the spec: "
            "`request MODULE:FUNCTION as NAME;`"
        )
    if set(found.before) == set(found.after):
        return "Both sides are the same; choose another run to compare with."
    return ""


def _refs(session: Session, side: tuple[Chosen, ...]) -> list[RunRef]:
    return [session.ref(run) for run in dict.fromkeys(each.run for each in side)]


class _Rows:
    """The comparison's categories as rows."""

    def __init__(self, found: Compared, params: CompareParams) -> None:
        self.chosen = params.category
        self.located = params.level in LOCATED
        self.mutations = found.mutations
        self.pairing = found.mutations.pairing
        self.samples = self.pairing.samples("response_ns")
        self.means = [samples.means() for samples in self.samples]

    def id_of(self, category: int) -> str:
        return category_id(self.pairing.keys[category])

    def first(self) -> str:
        """The category that the graph shows first, unless it is the first row's. For two single requests it is the
        later one's."""
        return self.id_of(int(self.pairing.category[1][0])) if self.mutations.is_pair else ""

    def number(self, category: str) -> int:
        """Raises `ClewError` for an unknown category."""
        for number, key in enumerate(self.pairing.keys):
            if category_id(key) == category:
                return number
        raise ClewError(f"these runs no longer have the category {category!r}; compare them again")

    def changed(self) -> Iterator[CompareRow]:
        shared = {id(row): cause.what() for cause in self.mutations.causes for row in cause.rows[1:]}
        for place, row in enumerate(self.mutations.rows):
            explained = place < EXPLAINED or self.id_of(row.category) == self.chosen
            differences = self.mutations.differences(row).rows if explained else ()
            yield self._row(
                row.category,
                kind=row.kind,
                expected=row.expected,
                shiftNs=row.shift_ns,
                lowNs=row.low_ns,
                highNs=row.high_ns,
                effect=row.effect,
                p=_number(row.p),
                costNs=row.cost_ns,
                sentence=row.sentence(),
                cause=shared.get(id(row), ""),
                calls=list(self._calls(row)),
                hiddenCalls=max(len(row.edges) - MAX_DETAILS, 0),
                precursors=[self._precursor(each) for each in row.precursors[:MAX_DETAILS]],
                hiddenPrecursors=max(len(row.precursors) - MAX_DETAILS, 0),
                differences=[_difference(each) for each in differences[:MAX_DETAILS]],
                hiddenDifferences=max(len(differences) - MAX_DETAILS, 0),
            )

    def unchanged(self, limit: int) -> Iterator[CompareRow]:
        """Yield the largest unchanged categories."""
        counts = np.add(*self.pairing.counts)
        flagged = self.mutations.flagged
        same = [number for number in np.argsort(-counts, kind="stable").tolist() if number not in flagged]
        for category in same[: max(limit, 0)]:
            before, after = (int(counts[category]) for counts in self.pairing.counts)
            yield self._row(
                category,
                kind="",
                expected=float(before),
                shiftNs=None,
                lowNs=None,
                highNs=None,
                effect=None,
                p=None,
                costNs=0.0,
                sentence=f"{self.pairing.name_of(category)}: no change, {before:,} and {after:,} requests",
            )

    def _row(self, category: int, **more: Any) -> CompareRow:
        counts = [int(counts[category]) for counts in self.pairing.counts]
        medians = [
            float(np.median(samples.of(category))) if n else None
            for samples, n in zip(self.samples, counts, strict=True)
        ]
        means = [float(means[category]) if n else None for means, n in zip(self.means, counts, strict=True)]
        return CompareRow(
            category=self.id_of(category),
            name=self.pairing.name_of(category),
            flow=shorten(self.pairing.text(category), MAX_FLOW),
            countBefore=counts[0],
            countAfter=counts[1],
            medianBeforeNs=medians[0],
            medianAfterNs=medians[1],
            meanBeforeNs=means[0],
            meanAfterNs=means[1],
            **more,
        )

    def _calls(self, row: Mutation) -> Iterator[CompareCall]:
        for edge in row.edges[:MAX_DETAILS]:
            found = self.pairing.location(row.category, edge.place) if self.located else None
            yield _call(edge, Location(*found) if found else None)

    def _precursor(self, each: Precursor) -> ComparePrecursor:
        return ComparePrecursor(
            category=self.id_of(each.category),
            flow=shorten(each.flow, MAX_FLOW),
            likeness=1 - each.distance,
            countBefore=each.count_before,
            countAfter=each.count_after,
            meanBeforeNs=each.mean_before_ns,
            sentence=each.sentence(),
        )


def _graph(found: Compared, rows: _Rows, category: str, params: CompareParams) -> CompareGraph:
    number = rows.number(category)
    other = rows.number(params.precursor) if params.precursor else found.mutations.beside(number)
    return union_graph(found.mutations, (other, number), (rows.id_of(other), rows.id_of(number)), params)


def category_id(key: CategoryKey) -> str:
    return f"{key.name}:{key.shape:016x}"


def _call(edge: EdgeChange, location: Location | None) -> CompareCall:
    return CompareCall(
        label=edge.target,
        caller=edge.source,
        channel=edge.channel,
        ownBeforeNs=edge.own_before_ns,
        ownAfterNs=edge.own_after_ns,
        edgeBeforeNs=edge.edge_before_ns,
        edgeAfterNs=edge.edge_after_ns,
        p=edge.p,
        sentence=edge.sentence(),
        location=location,
        isVictim=edge.is_victim,
    )


def _difference(each: Difference) -> CompareDifference:
    return CompareDifference(
        kind=each.kind,
        subject=each.subject,
        share=each.share,
        otherShare=each.other_share,
        p=each.p,
        sentence=each.sentence(),
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value


def compare(session: Session, params: CompareParams, task: Task) -> CompareResult:
    """Answer `compare_view`, in a worker process where the runs are large."""
    return answered(session, whole_runs(session, params), task, compare_view, params)
