"""The diff view: functions (or other labels) that got slower between two runs, and changes of the graph."""

from __future__ import annotations

from clew.graph.model.levels import level_names
from clew.graph.ops import diff as graph_diff
from clew.graph.ops.aggregation.aggregate import aggregate
from clew.records.errors import ClewError
from clew.server.protocol.shared import Location
from clew.server.protocol.views.diff import DiffEdge, DiffNode, DiffParams, DiffResult, DiffRow
from clew.server.session.answer_process import answered
from clew.server.session.session import Session, Task
from clew.server.views.slice.labels import short
from clew.server.views.slice.view import EVENT

MAX_ROWS = 5000


def diff_view(session: Session, params: DiffParams, task: Task) -> DiffResult:
    """Raises `ClewError` for an unknown run or level."""
    if params.level == EVENT:
        raise ClewError(
            'two runs have no events in common; compare them at "function", "class", "module" or "component"'
        )
    before = [session.open(which, task) for which in (params.before, *params.alsoBefore)]
    after = [session.open(which, task) for which in (params.after, *params.alsoAfter)]
    task.phase("aggregating")
    with task.interruptible():
        old, new = ([aggregate(run.graph, params.level) for run in side] for side in (before, after))
    task.phase("comparing")
    found = graph_diff.diff_of_runs(old, new)
    limit = max(1, min(params.maxRows, MAX_ROWS))
    findings = {row.label for row in found.findings()}
    waits = {row.label for row in found.wait_findings()}
    rows = [_row(row, row.label in findings, row.label in waits) for row in found.rows[:limit]]
    visible = {row.label for row in rows}
    places = {row.label: row.location for row in rows}
    message = ""
    both = {run.folder for run in before} & {run.folder for run in after}
    if both:
        name = next(run.info.name for run in before if run.folder in both)
        are = "are" if len(before) == len(after) == 1 else "have"
        message = f"Both sides {are} run {name}; choose another one to compare it with."
    elif not found.nodes:
        message = "Neither run recorded any event."
    return DiffResult(
        before=session.ref(before[0]),
        after=session.ref(after[0]),
        level=params.level,
        levels=[name for name in level_names(after[0].graph) if name != EVENT],
        sentence=found.sentence(),
        rows=rows,
        nodes=[
            DiffNode(
                id=node.label,
                label=short(params.level, node.label),
                status=node.status,
                deltaNs=float(node.delta_ns),
                callsBefore=node.before.calls if node.before else 0,
                callsAfter=node.after.calls if node.after else 0,
                location=places[node.label],
            )
            for node in found.nodes
            if node.label in visible
        ],
        edges=_edges(found, visible),
        totalBeforeNs=float(found.total_before_ns),
        totalAfterNs=float(found.total_after_ns),
        hiddenRows=len(found.rows) - len(rows),
        message=message,
        order=found.order(),
        counted=found.counted(),
        alsoBefore=[session.ref(run) for run in before[1:]],
        alsoAfter=[session.ref(run) for run in after[1:]],
    )


def _row(row: graph_diff.DiffRow, finding: bool, waits_finding: bool) -> DiffRow:
    return DiffRow(
        label=row.label,
        status=row.status,
        callsBefore=row.calls_before,
        callsAfter=row.calls_after,
        selfBeforeNs=float(row.self_before_ns),
        selfAfterNs=float(row.self_after_ns),
        deltaNs=float(row.delta_ns),
        perCallBeforeNs=row.per_call_before_ns,
        perCallAfterNs=row.per_call_after_ns,
        location=_location(row.location),
        countedBefore=row.counted_before,
        countedAfter=row.counted_after,
        finding=finding,
        waitsBeforeNs=float(row.waits_before_ns),
        waitsAfterNs=float(row.waits_after_ns),
        waitsFinding=waits_finding,
    )


def _edges(found: graph_diff.Diff, visible: set[str]) -> list[DiffEdge]:
    """Return one edge per pair of nodes, for all kinds and channels."""
    counts: dict[tuple[str, str], list[int]] = {}
    for edge in found.edges:
        pair = found.nodes[edge.source].label, found.nodes[edge.target].label
        if pair[0] in visible and pair[1] in visible:
            sums = counts.setdefault(pair, [0, 0])
            sums[0] += edge.count_before
            sums[1] += edge.count_after
    return [
        DiffEdge(source, target, "both" if before and after else "before" if before else "after", before, after)
        for (source, target), (before, after) in counts.items()
    ]


def _location(place: tuple[str, int] | None) -> Location | None:
    return Location(*place) if place else None


def diff(session: Session, params: DiffParams, task: Task) -> DiffResult:
    """Answer `diff_view`, in a worker process where the runs are large."""
    runs = params.before, params.after, *params.alsoBefore, *params.alsoAfter
    return answered(session, runs, task, diff_view, params)
