"""The diff view: which functions (or other labels) got slower between two runs, and where the graph changed."""

from __future__ import annotations

from clew.graph.levels import level_names
from clew.graph.ops import diff as graph_diff
from clew.graph.ops.aggregate import aggregate
from clew.records.errors import ClewError
from clew.server.panel.draw_labels import short
from clew.server.panel.slice import EVENT
from clew.server.protocol import DiffEdge, DiffNode, DiffParams, DiffResult, DiffRow, Location
from clew.server.session import Session, Task

MAX_ROWS = 5000


def diff_view(session: Session, params: DiffParams, task: Task) -> DiffResult:
    """Raises `ClewError` for a run or a level that is not there."""
    if params.level == EVENT:
        raise ClewError(
            'two runs have no events in common; compare them at "function", "class", "module" or "component"'
        )
    before, after = session.open(params.before, task), session.open(params.after, task)
    task.phase("aggregating")
    with task.interruptible():
        old, new = aggregate(before.graph, params.level), aggregate(after.graph, params.level)
    task.phase("comparing")
    found = graph_diff.diff(old, new)
    limit = max(1, min(params.maxRows, MAX_ROWS))
    findings = {row.label for row in found.findings()}
    rows = [_row(row, row.label in findings) for row in found.rows[:limit]]
    kept = {row.label for row in rows}
    places = {row.label: row.location for row in rows}
    message = ""
    if before.folder == after.folder:
        message = f"Both sides are run {before.info.name}; choose another one to compare it with."
    elif not found.nodes:
        message = "Neither run recorded any event."
    return DiffResult(
        before=session.ref(before),
        after=session.ref(after),
        level=params.level,
        levels=[name for name in level_names(after.graph) if name != EVENT],
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
            if node.label in kept
        ],
        edges=_edges(found, kept),
        totalBeforeNs=float(found.total_before_ns),
        totalAfterNs=float(found.total_after_ns),
        hiddenRows=len(found.rows) - len(rows),
        message=message,
        order=found.order(),
        counted=found.counted(),
    )


def _row(row: graph_diff.DiffRow, finding: bool) -> DiffRow:
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
    )


def _edges(found: graph_diff.Diff, kept: set[str]) -> list[DiffEdge]:
    """One edge per pair of nodes, whatever its kinds and channels."""
    counts: dict[tuple[str, str], list[int]] = {}
    for edge in found.edges:
        pair = found.nodes[edge.source].label, found.nodes[edge.target].label
        if pair[0] in kept and pair[1] in kept:
            sums = counts.setdefault(pair, [0, 0])
            sums[0] += edge.count_before
            sums[1] += edge.count_after
    return [
        DiffEdge(source, target, "both" if before and after else "before" if before else "after", before, after)
        for (source, target), (before, after) in counts.items()
    ]


def _location(place: tuple[str, int] | None) -> Location | None:
    return Location(*place) if place else None
