"""`clew report`: write one self-contained file with the answers about a run, for readers without clew."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from clew.cli.output.options import open_session, workspace_option


@click.command()
@click.argument("run", required=False)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    help="Output file; - is standard output.",
)
@click.option("--against", metavar="RUN", default="", help="Reference run; adds a comparison with it.")
@click.option(
    "--only",
    type=click.Choice(
        ["slice", "path", "walk", "patterns", "compare", "diff", "suspects", "aggregate", "timeline", "wizard"]
    ),
    multiple=True,
    help="Include only this view. Repeatable.",
)
@click.option(
    "--limit",
    type=click.FloatRange(0.1, 500),
    default=20.0,
    show_default=True,
    help="Maximum megabytes of answers; omitted answers are listed.",
)
@workspace_option
def report(
    *, run: str | None, output: Path, against: str, only: tuple[str, ...], limit: float, workspace: Path | None
) -> None:
    """Write a run's answers to one HTML file that any browser opens, without clew and without a network.

    The report contains the causes of the newest error of each logging place, and walks around it. It shows the critical
    path of the slowest request of each name, repeated call sequences, and unusual requests. It also contains the guides
    with their most likely answers, and the timeline at the resolution that fits. With --against it adds the differences
    from that run. The report contains source code and recorded values; share it accordingly.

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
        click.echo(f"omitted: {what}", err=True)
