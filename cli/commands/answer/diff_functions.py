"""`clew diff --by functions`: show which functions became slower between two runs: one sentence, then the statistics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from clew.cli.output.options import markdown_table, place_cell, print_json, print_notes, show, table
from clew.records.run.failure_conditions import Limits

if TYPE_CHECKING:
    from clew.server.protocol.shared import RunRef
    from clew.server.protocol.views.diff import DiffParams, DiffRow
    from clew.server.session.session import Session


def diff_functions(session: Session, params: DiffParams, limits: Limits, *, as_json: bool, as_markdown: bool) -> str:
    """Print the answer. Return the reason for failing a build, or "" when it passes."""
    from clew.graph.ops.diff import number
    from clew.server.session.session import Task
    from clew.server.text import units
    from clew.server.views.diff import MAX_ROWS, diff_view

    found = diff_view(session, replace(params, maxRows=MAX_ROWS), Task())
    why = _failed(found.rows, limits)
    hidden = found.hiddenRows + max(len(found.rows) - params.maxRows, 0)
    found = replace(found, rows=found.rows[: params.maxRows], hiddenRows=hidden)
    if as_json:
        print_json(found)
        return why
    level = params.level
    waits = ("waits before", "waits after") if any(row.waitsFinding for row in found.rows) else ()
    grid = table(
        "change", "self before", "self after", *waits, "calls before", "after", "per call before", "after", level, "source",
        right=("change", "self before", "self after", *waits, "calls before", "after", "per call before"),
    )  # fmt: skip
    for row in found.rows:
        grid.add_row(
            f"{'+' if row.deltaNs > 0 else ''}{units.duration(row.deltaNs)}",
            units.duration(row.selfBeforeNs) if row.status != "after" else "",
            units.duration(row.selfAfterNs) if row.status != "before" else "",
            *(units.duration(ns) for ns in (row.waitsBeforeNs, row.waitsAfterNs)[: len(waits)]),
            number(row.callsBefore),
            number(row.callsAfter),
            units.duration(row.perCallBeforeNs) if row.callsBefore and not row.countedBefore else "",
            units.duration(row.perCallAfterNs) if row.callsAfter and not row.countedAfter else "",
            row.label,
            place_cell(row.location),
        )
    if as_markdown:
        click.echo(f"### clew: {found.sentence}\n\n{found.message or markdown_table(grid)}")
        return why
    click.echo(found.sentence)
    if found.message:
        click.echo(found.message)
    if not found.rows:
        return why
    click.echo()
    show(grid)
    if found.hiddenRows:
        click.echo(f"and {found.hiddenRows:,} more; use --rows to show more")
    click.echo(found.order)
    if found.counted:
        click.echo(found.counted)
    total = units.duration(found.totalBeforeNs), units.duration(found.totalAfterNs)
    before, after = [found.before, *found.alsoBefore], [found.after, *found.alsoAfter]
    change = found.totalAfterNs - found.totalBeforeNs
    click.echo(
        f"total self time: {total[0]} in {_names(before)}, {total[1]} in {_names(after)}; "
        f"the change is {'+' if change > 0 else ''}{units.duration(change)}"
    )
    for run in (*before, *after):
        print_notes([f"run {run.name}: {note}" for note in run.problems])
    return why


def _names(runs: list[RunRef]) -> str:
    names = ", ".join(run.name for run in runs)
    return f"run {names}" if len(runs) == 1 else f"a run of {names} on average"


def _failed(rows: list[DiffRow], limits: Limits) -> str:
    if limits.slower is None:
        return ""
    slow = [
        row.label
        for row in rows
        if (row.finding and row.deltaNs > 0 and row.selfAfterNs >= row.selfBeforeNs * (1 + limits.slower))
        or (row.waitsFinding and row.waitsAfterNs > row.waitsBeforeNs)
    ]
    if not slow:
        return ""
    by = f" by {limits.slower:.0%} or more" if limits.slower else ""
    return f"failed: {slow[0]} {'is' if len(slow) == 1 else f'and {len(slow) - 1:,} more are'} slower{by}"
