"""`clew diff`: which functions got slower between two runs; one sentence, then the figures. Or the tests of two revisions."""

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
from clew.cli.sessions import REFS, diff_sessions
from clew.records.limits import HELP, Limits, parse_limits
from clew.records.run import the_workspace


@click.command()
@click.argument("before")
@click.argument("after", required=False)
@click.option(
    "--level", default="function", show_default=True, help="function, class, module, component, … or the spec's."
)
@click.option("--rows", type=click.IntRange(1), default=15, show_default=True, help="How many lines of figures.")
@click.option("--fail-on", metavar="WHAT", default="", help=f"Of REF..REF: exit with 3 if a test is {HELP}.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Of REF..REF: print Markdown, for a pull request.")
@workspace_option
@json_option
def diff(
    *,
    before: str,
    after: str | None,
    level: str,
    rows: int,
    fail_on: str,
    as_markdown: bool,
    workspace: Path | None,
    as_json: bool,
) -> int | None:
    """Say which functions got slower (or faster) from run BEFORE to run AFTER.

    A run is given by its id, its name (the newest of that name) or its folder. Compared is the time in each function's own
    code; waiting, and time in other recorded functions, does not count.

    BEFORE..AFTER instead are two revisions (main, HEAD~3, a run's id) whose tests `pytest --clew` recorded: which tests' flows
    changed, or their time, and by which functions. Without AFTER it is the newest session, without BEFORE HEAD's.

    \b
    Examples:
      clew diff before after
      clew diff main..HEAD
      clew diff main.. --fail-on slower:20%,structure --markdown
      clew diff before after --level component
      clew diff before after --json | jq '.rows[0]'
    """
    if after is None and REFS in before:
        limits = parse_limits(fail_on) if fail_on else Limits()
        return diff_sessions(before, the_workspace(workspace), limits, as_json=as_json, as_markdown=as_markdown)
    if after is None:
        raise click.UsageError(f"what is {before!r} to be compared with? Give two runs, or two revisions: main..HEAD")
    if fail_on or as_markdown:
        raise click.UsageError("--fail-on and --markdown are for the tests of two revisions: main..HEAD")
    from clew.server import wording
    from clew.server.panel.diff import diff_view
    from clew.server.protocol import DiffParams
    from clew.server.session import Task

    found = diff_view(open_session(workspace), DiffParams(before, after, level, rows), Task())
    if as_json:
        print_json(found)
        return None
    click.echo(found.sentence)
    if found.message:
        click.echo(found.message)
    if not found.rows:
        return None
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
    return None
