"""`clew aggregate`: sum a run, or the causes of one log line, by a level."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.output.options import (
    json_option,
    open_session,
    place_cell,
    print_json,
    print_problems,
    run_option,
    show,
    table,
    workspace_option,
)
from clew.records.errors import ClewError

if TYPE_CHECKING:
    from clew.graph.ops.aggregation.aggregate import AggregateNode

SORTS = {
    "self": "self_ns",
    "total": "total_ns",
    "waiting": "waiting_ns",
    "calls": "calls",
    "errors": "errors",
    "events": "events",
}


@click.command()
@click.argument("text", required=False)
@click.option(
    "--level", default="function", show_default=True, help="Group by function, class, module, component, process, …"
)
@click.option(
    "--sort", type=click.Choice(list(SORTS)), default="self", show_default=True, help="Sort column, largest first."
)
@click.option("--rows", type=click.IntRange(1), default=25, show_default=True, help="Maximum rows to print.")
@run_option
@workspace_option
@json_option
def aggregate(
    *, text: str | None, level: str, sort: str, rows: int, run: str | None, workspace: Path | None, as_json: bool
) -> None:
    """Sum a run by function, class, module, component, task, thread, process, machine, or a level of the spec.

    With TEXT, a part of a log message, sum only the causes of the newest matching log line.

    \b
    Examples:
      clew aggregate
      clew aggregate --level process --sort events
      clew aggregate 'Write request failed' --level component --json
    """
    from clew.graph.ops.aggregation.aggregate import aggregate as condense
    from clew.graph.ops.slicing.interval import slice_events
    from clew.server.protocol.shared import Location, Target
    from clew.server.session.session import Task
    from clew.server.text import units
    from clew.server.views.target import NothingFound, find_target, nothing_recorded

    if level == "event":
        raise ClewError("level event cannot be aggregated; run `clew slice` to list events")
    session = open_session(workspace)
    if text is None:
        opened = session.open(run or "")
        summed = condense(opened.graph, level)
        what = f"run {opened.info.name}"
    else:
        found = find_target(session, run or "", Target(text=text), Task())
        opened = found.run
        summed = condense(slice_events(opened.graph, found.events), level)
        what = f"causes of {found.title!r} in run {opened.info.name}"
    if not len(summed):
        raise NothingFound(nothing_recorded(opened))
    nodes = sorted(summed.by_label().nodes, key=lambda node: (-int(getattr(node, SORTS[sort])), node.label))
    if as_json:
        labels = [
            {
                "label": node.label,
                "events": node.events,
                "calls": node.calls,
                "selfNs": node.self_ns,
                "totalNs": node.total_ns,
                "waitingNs": node.waiting_ns,
                "processorNs": node.processor_ns,
                "gilNs": node.gil_ns,
                "blockedNs": node.blocked_ns,
                "counted": node.counted,
                "errors": node.errors,
                "location": {"path": node.location[0], "line": node.location[1]} if node.location else None,
            }
            for node in nodes
        ]
        print_json({"run": session.ref(opened), "level": level, "labels": labels})
        return
    click.echo(f"{what}: {units.count(len(nodes), 'label')} at level {level}")
    click.echo()
    grid = table(
        "self", "total", "waiting", "calls", "errors", "events", level, "source",
        right=("self", "total", "waiting", "calls", "errors", "events"),
    )  # fmt: skip
    for node in nodes[:rows]:
        grid.add_row(
            units.duration(node.self_ns),
            units.duration(node.total_ns),
            units.duration(node.waiting_ns) if node.waiting_ns else "",
            f"{node.calls:,}" if node.calls else "",
            f"{node.errors:,}" if node.errors else "",
            f"{node.events:,}",
            node.label,
            place_cell(Location(*node.location) if node.location else None),
        )
    show(grid)
    if len(nodes) > rows:
        click.echo(f"and {len(nodes) - rows:,} more; use --rows to show more")
    if pauses := _pauses(nodes):
        click.echo(pauses)
    counted = sum(node.counted for node in nodes) + summed.unplaced
    if counted:
        where = f"; {summed.unplaced:,} of them belong to no row" if summed.unplaced else ""
        calls = units.count(counted, "counted call")
        click.echo(f"the times of {calls} are unknown and included in the self time of their callers{where}")
    print_problems(opened)


def _pauses(nodes: list[AggregateNode]) -> str:
    """Return which part of the waiting has no edge, by what was waited for; "" for none."""
    from clew.server.text import units

    kinds = {
        "a processor": sum(node.processor_ns for node in nodes),
        "the GIL (inferred)": sum(node.gil_ns for node in nodes),
        "sleep or I/O": sum(node.blocked_ns for node in nodes),
    }
    told = [f"{units.duration(ns)} for {what}" for what, ns in kinds.items() if ns]
    return f"of the waiting: {', '.join(told)}" if told else ""
