"""`clew localize`: where to look, one ranked list of services or functions with the reasons for each."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
from clew.cli.sessions import FAILED
from clew.records.errors import ClewError

if TYPE_CHECKING:
    from clew.server.protocol import LocalizeResult

REASONS = 3
"""Pieces of evidence that a suspect shows."""


@click.command()
@click.argument("suspect", nargs=-1, required=True)
@click.option(
    "--against", multiple=True, metavar="REFERENCE", help="A run in which all was well; may be given several times."
)
@click.option("--request", default="", metavar="NAME", help="Only requests of this name.")
@click.option("--top", type=click.IntRange(1), default=10, show_default=True, help="How many suspects.")
@click.option(
    "--fail-on", type=click.FloatRange(0, min_open=True), metavar="BITS",
    help="Exit with 3 if the first suspect has at least so many bits; 1 is little, 3 is much.",
)  # fmt: skip
@click.option("--time", type=click.FloatRange(0), metavar="BITS", help="What a doubling of time counts. Default: 2.")
@click.option(
    "--half", type=click.FloatRange(0, min_open=True), metavar="BITS",
    help="By how much two sides must surely differ to be trusted by half. Default: 3 (8 to 1).",
)  # fmt: skip
@click.option(
    "--floor", type=click.FloatRange(0, 1), metavar="SHARE",
    help="Growth counts against a place's own time and this share of the request's. Default: 0.05.",
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
    """Say where to look for what is wrong in runs SUSPECT: services, or functions of one, ranked, with reasons.

    A run is given by its id, its name (the newest of that name), its folder, or a foreign trace (several files of one,
    spans and logs, with commas between). With --against, what is different from a time when all was well: time of a
    function's own, slow ways between services, one instance slower than its like, calls that are new or missing, errors,
    and words in logs. Without it, requests that are unlike their kind (by principal components) are compared with the
    others. docs/localize.md says how evidence is weighed.

    \b
    Examples:
      clew localize today --against yesterday
      clew localize today --against mon --against tue --top 3
      clew localize today --request checkout
      clew localize today --against yesterday --fail-on 3
      clew localize bad.jsonl,bad-logs.jsonl --against good.jsonl,good-logs.jsonl
      clew localize today --against yesterday --json | jq '.suspects[0]'
    """
    from clew.server.panel.localize import localize_view
    from clew.server.protocol import LocalizeParams, LocalizeThresholds
    from clew.server.session import Task

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
        figures = table("", "bits", "suspect", "why", "source", right=("", "bits"))
        for suspect in found.suspects:
            for number, piece in enumerate(suspect.evidence[:REASONS]):
                first = number == 0
                figures.add_row(
                    str(suspect.rank) if first else "",
                    f"{suspect.score:.1f}" if first else "",
                    suspect.place if first else "",
                    piece.sentence,
                    place_cell(piece.location),
                )
        show(figures)
        if found.hiddenSuspects:
            click.echo(f"and {found.hiddenSuspects:,} more; --top shows more")
    click.echo()
    for cluster in found.clusters:
        if cluster.anomalous or cluster.method != "pca":
            alike = f"{cluster.requests:,} requests alike" if cluster.requests > 1 else "1 request like no other"
            click.echo(f"{alike}: {cluster.anomalous:,} anomalous ({cluster.why})")
    click.echo(found.explanation)
    for run in (*found.suspect, *found.reference):
        print_notes([f"run {run.name}: {note}" for note in run.problems])
