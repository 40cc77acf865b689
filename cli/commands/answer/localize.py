"""`clew localize`: rank services or functions as suspects, with the evidence for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.commands.answer.diff_tests import FAILED
from clew.cli.output.options import (
    json_option,
    open_session,
    place_cell,
    print_json,
    print_notes,
    show,
    table,
    workspace_option,
)
from clew.records.errors import ClewError

if TYPE_CHECKING:
    from clew.server.protocol.views.localize import LocalizeResult

REASONS = 3
"""Pieces of evidence shown per suspect."""


@click.command()
@click.argument("suspect", nargs=-1, required=True)
@click.option("--against", multiple=True, metavar="REFERENCE", help="A known-good reference run. Repeatable.")
@click.option("--request", default="", metavar="NAME", help="Only requests of this name.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="Maximum suspects to print.")
@click.option(
    "--fail-on", type=click.FloatRange(0, min_open=True), metavar="BITS",
    help="Exit with 3 if the first suspect has at least this many bits (1 is weak evidence, 3 is strong).",
)  # fmt: skip
@click.option("--time", type=click.FloatRange(0), metavar="BITS", help="Evidence for a doubling of time. Default: 2.")
@click.option(
    "--half", type=click.FloatRange(0, min_open=True), metavar="BITS",
    help="Certain difference of two sides that gets half the weight. Default: 3 (8 to 1).",
)  # fmt: skip
@click.option(
    "--floor", type=click.FloatRange(0, 1), metavar="SHARE",
    help="Growth is measured against a place's own time plus this share of the request's. Default: 0.05.",
)  # fmt: skip
@workspace_option
@json_option
def localize(
    *,
    suspect: tuple[str, ...],
    against: tuple[str, ...],
    request: str,
    top: int,
    fail_on: float | None,
    workspace: Path | None,
    as_json: bool,
    **thresholds: float | None,
) -> int | None:
    """Rank the services, or the functions of one service, that best explain what is wrong in the runs SUSPECT, with
    evidence.

    Give a run as an id, a name (the newest of that name), a folder, or a foreign trace (several comma-separated files
    of one trace, spans and logs). With --against, the evidence is any difference from the known-good runs: self time,
    slow connections between services, one instance slower than its peers, new or missing calls, errors, and words in
    logs. Without it, unusual requests (found by principal components) are compared with the others. See
    docs/localize.md for the weighting of evidence.

    \b
    Examples:
      clew localize today --against yesterday
      clew localize today --against mon --against tue --top 3
      clew localize today --request checkout
      clew localize today --against yesterday --fail-on 3
      clew localize bad.jsonl,bad-logs.jsonl --against good.jsonl,good-logs.jsonl
      clew localize today --against yesterday --json | jq '.suspects[0]'
    """
    from clew.server.protocol.views.localize import LocalizeParams, LocalizeThresholds
    from clew.server.session.session import Task
    from clew.server.views.localize import localize_view

    moved = {name: value for name, value in thresholds.items() if value is not None}
    chosen = LocalizeThresholds(**moved)  # type: ignore[arg-type]  # `pieces` and `most` are whole, and no options
    params = LocalizeParams(list(suspect), list(against), request, top, chosen)
    found = localize_view(open_session(workspace), params, Task())
    if found.message:
        raise ClewError(found.message)
    if as_json:
        print_json(found)
    else:
        _print(found)
    if fail_on is not None and found.suspects and found.suspects[0].score >= fail_on:
        click.echo(f"clew: {found.suspects[0].place} has {found.suspects[0].score:.1f} bits", err=True)
        return FAILED
    return None


def _print(found: LocalizeResult) -> None:
    click.echo(found.sentence)
    if found.suspects:
        click.echo()
        grid = table("", "bits", "suspect", "why", "source", right=("", "bits"))
        for suspect in found.suspects:
            for number, piece in enumerate(suspect.evidence[:REASONS]):
                first = number == 0
                grid.add_row(
                    str(suspect.rank) if first else "",
                    f"{suspect.score:.1f}" if first else "",
                    suspect.place if first else "",
                    piece.sentence,
                    place_cell(piece.location),
                )
        show(grid)
        if found.hiddenSuspects:
            click.echo(f"and {found.hiddenSuspects:,} more; use --top to show more")
    click.echo()
    for cluster in found.clusters:
        if cluster.anomalous or cluster.method != "pca":
            alike = f"{cluster.requests:,} similar requests" if cluster.requests > 1 else "1 unique request"
            click.echo(f"{alike}: {cluster.anomalous:,} anomalous ({cluster.why})")
    click.echo(found.explanation)
    for run in (*found.suspect, *found.reference):
        print_notes([f"run {run.name}: {note}" for note in run.problems])
