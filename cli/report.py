"""`clew report`: one file that has what there is to say of a run, for people without clew."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from clew.cli.common import open_session, workspace_option


@click.command()
@click.argument("run", required=False)
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), required=True, help="The file; - for stdout."
)
@click.option("--against", metavar="RUN", default="", help="Another run to compare it with: what changed since.")
@click.option(
    "--only",
    type=click.Choice(
        ["slice", "path", "walk", "patterns", "compare", "diff", "suspects", "aggregate", "timeline", "wizard"]
    ),
    multiple=True,
    help="Only these views. Repeatable.",
)
@click.option(
    "--limit",
    type=click.FloatRange(0.1, 500),
    default=20.0,
    show_default=True,
    help="Megabytes of answers; what does not fit is named.",
)
@workspace_option
def report(
    *, run: str | None, output: Path, against: str, only: tuple[str, ...], limit: float, workspace: Path | None
) -> None:
    """Write a run's answers into one HTML file that any browser opens, without clew and without a network.

    It has what led to the newest error of each place that logs some and walks around that, the critical path of the slowest
    request of each name, what threads and tasks do again and again, unusual requests, the guided analyses with their
    likeliest answers, and the timeline, as fine as there is room; with --against what changed since that run. The file
    holds the lines of source around the places it names, so mind whom you give it to.

    \b
    Examples:
      clew report -o report.html
      clew report after --against before -o changes.html
      clew report --only slice --only path -o why.html
    """
    from clew.server.reports.page import page
    from clew.server.reports.report import make_report

    session = open_session(workspace)
    made = make_report(session, run or "", against, only, limit=int(limit * 1e6))
    text = page(f"clew: {made.run['name']}", made.data())
    if str(output) == "-":
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8")
    size = len(text.encode()) / 1e6
    click.echo(f"{output}: {len(made.answers)} answers, {size:.1f} MB", err=True)
    for what in made.left_out:
        click.echo(f"left out: {what}", err=True)
