"""`clew diff`: which functions got slower between two runs; one sentence, then the figures."""

from __future__ import annotations

from pathlib import Path

import click

from clew.cli.common import (
    json_option,
    open_session,
    place_cell,
    print_json,
    print_notes,
    show,
    table,
    workspace_option,
)


@click.command()
@click.argument("before")
@click.argument("after")
@click.option(
    "--level", default="function", show_default=True, help="function, class, module, component, … or the spec's."
)
@click.option("--rows", type=click.IntRange(1), default=15, show_default=True, help="How many lines of figures.")
@workspace_option
@json_option
def diff(*, before: str, after: str, level: str, rows: int, workspace: Path | None, as_json: bool) -> None:
    """Say which functions got slower (or faster) from run BEFORE to run AFTER.

    A run is given by its id, its name (the newest of that name) or its folder. Compared is the time in each function's own
    code; waiting, and time in other recorded functions, does not count.

    \b
    Examples:
      clew diff before after
      clew diff before after --level component
      clew diff before after --json | jq '.rows[0]'
    """
    from clew.server import wording
    from clew.server.panel.diff import diff_view
    from clew.server.protocol import DiffParams
    from clew.server.session import Task

    found = diff_view(open_session(workspace), DiffParams(before, after, level, rows), Task())
    if as_json:
        print_json(found)
        return
    click.echo(found.sentence)
    if found.message:
        click.echo(found.message)
    if not found.rows:
        return
    click.echo()
    figures = table(
        "change", "self before", "self after", "calls before", "after", "per call before", "after", level, "source",
        right=("change", "self before", "self after", "calls before", "after", "per call before"),
    )  # fmt: skip
    for row in found.rows:
        figures.add_row(
            f"{'+' if row.deltaNs > 0 else ''}{wording.duration(row.deltaNs)}",
            wording.duration(row.selfBeforeNs) if row.status != "after" else "",
            wording.duration(row.selfAfterNs) if row.status != "before" else "",
            f"{row.callsBefore:,}",
            f"{row.callsAfter:,}",
            wording.duration(row.perCallBeforeNs) if row.callsBefore and not row.countedBefore else "",
            wording.duration(row.perCallAfterNs) if row.callsAfter and not row.countedAfter else "",
            row.label,
            place_cell(row.location),
        )
    show(figures)
    if found.hiddenRows:
        click.echo(f"and {found.hiddenRows:,} more; --rows shows more")
    click.echo(found.order)
    if found.counted:
        click.echo(found.counted)
    total = wording.duration(found.totalBeforeNs), wording.duration(found.totalAfterNs)
    change = found.totalAfterNs - found.totalBeforeNs
    click.echo(
        f"self time in all: {total[0]} in run {found.before.name}, {total[1]} in run {found.after.name}; "
        f"the change is {'+' if change > 0 else ''}{wording.duration(change)}"
    )
    for run in (found.before, found.after):
        print_notes([f"run {run.name}: {note}" for note in run.problems])
