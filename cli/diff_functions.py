"""`clew diff --by functions`: which functions of two runs got slower; one sentence, then the figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from clew.cli.common import markdown_table, place_cell, print_json, print_notes, show, table
from clew.records.limits import Limits

if TYPE_CHECKING:
    from clew.server.protocol import DiffParams, DiffRow, RunRef
    from clew.server.session import Session


def diff_functions(session: Session, params: DiffParams, limits: Limits, *, as_json: bool, as_markdown: bool) -> str:
    """Prints the answer; why a build fails, "" when it does not."""
    from clew.graph.ops.diff import number
    from clew.server import wording
    from clew.server.panel.diff import MAX_ROWS, diff_view
    from clew.server.session import Task

    found = diff_view(session, replace(params, maxRows=MAX_ROWS), Task())
    why = _failed(found.rows, limits)
    hidden = found.hiddenRows + max(len(found.rows) - params.maxRows, 0)
    found = replace(found, rows=found.rows[: params.maxRows], hiddenRows=hidden)
    if as_json:
        print_json(found)
        return why
    level = params.level
    figures = table(
        "change", "self before", "self after", "calls before", "after", "per call before", "after", level, "source",
        right=("change", "self before", "self after", "calls before", "after", "per call before"),
    )  # fmt: skip
    for row in found.rows:
        figures.add_row(
            f"{'+' if row.deltaNs > 0 else ''}{wording.duration(row.deltaNs)}",
            wording.duration(row.selfBeforeNs) if row.status != "after" else "",
            wording.duration(row.selfAfterNs) if row.status != "before" else "",
            number(row.callsBefore),
            number(row.callsAfter),
            wording.duration(row.perCallBeforeNs) if row.callsBefore and not row.countedBefore else "",
            wording.duration(row.perCallAfterNs) if row.callsAfter and not row.countedAfter else "",
            row.label,
            place_cell(row.location),
        )
    if as_markdown:
        click.echo(f"### clew: {found.sentence}\n\n{found.message or markdown_table(figures)}")
        return why
    click.echo(found.sentence)
    if found.message:
        click.echo(found.message)
    if not found.rows:
        return why
    click.echo()
    show(figures)
    if found.hiddenRows:
        click.echo(f"and {found.hiddenRows:,} more; --rows shows more")
    click.echo(found.order)
    if found.counted:
        click.echo(found.counted)
    total = wording.duration(found.totalBeforeNs), wording.duration(found.totalAfterNs)
    before, after = [found.before, *found.alsoBefore], [found.after, *found.alsoAfter]
    change = found.totalAfterNs - found.totalBeforeNs
    click.echo(
        f"self time in all: {total[0]} in {_names(before)}, {total[1]} in {_names(after)}; "
        f"the change is {'+' if change > 0 else ''}{wording.duration(change)}"
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
        if row.finding and row.deltaNs > 0 and row.selfAfterNs >= row.selfBeforeNs * (1 + limits.slower)
    ]
    if not slow:
        return ""
    by = f" by {limits.slower:.0%} or more" if limits.slower else ""
    return f"failed: {slow[0]} {'is' if len(slow) == 1 else f'and {len(slow) - 1:,} more are'} slower{by}"
