"""`clew diff --by flows`: show which request categories changed between runs, why, and which flow became which."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clew.cli.output.options import print_json, print_notes, show, table
from clew.records.errors import ClewError
from clew.records.run.failure_conditions import Limits

if TYPE_CHECKING:
    from clew.compare.requests.diff import Mutations
    from clew.server.protocol.views.compare import CompareParams
    from clew.server.session.session import Session

DETAILS = 3
"""Number of changes shown in full."""


def diff_flows(session: Session, params: CompareParams, limits: Limits, *, as_json: bool, as_markdown: bool) -> str:
    """Print the answer. Return the reason for failing a build, or "" when it passes."""
    from clew.compare.requests.report import failed, markdown
    from clew.server.session.session import Task
    from clew.server.views.compare.graph import LOCATED
    from clew.server.views.compare.sides import compared
    from clew.server.views.compare.view import compare_view

    found = compare_view(session, params, Task())
    if not found.requestsBefore and not found.requestsAfter:
        raise ClewError(f"{found.message} `--by functions` works without requests.")
    mutations = compared(session, params, Task()).mutations
    why = failed(mutations, limits)
    root = str(session.workspace) if params.level in LOCATED else None
    if as_json:
        print_json(found)
    elif as_markdown:
        click.echo(markdown(mutations, root), nl=False)
    else:
        click.echo(found.sentence)
        if found.message:
            click.echo(found.message)
        _print_changes(mutations, root, params.maxRows)
        if not mutations.is_pair:
            click.echo()
            if found.certainty:
                click.echo(found.certainty)
            click.echo(found.explanation)
        for run in [*found.before, *found.after]:
            print_notes([f"run {run.name}: {note}" for note in run.problems])
    return why


def _print_changes(mutations: Mutations, root: str | None, limit: int) -> None:
    from clew.compare.requests.report import change, details, flow_lines, kind, summary
    from clew.graph.ops.diff import duration

    if mutations.is_pair:
        click.echo()
        for line in flow_lines(mutations.pair()):
            click.echo(f"  {line}")
        return
    if not mutations.rows:
        return
    click.echo()
    grid = table(
        "cost", "flow", "requests before", "after", "mean before", "after", "change, 95 %", "p", "request",
        right=("cost", "requests before", "after", "mean before", "p"),
    )  # fmt: skip
    for cause in mutations.causes[:limit]:
        row = summary(cause)
        bounds = [change(bound) for bound in (row.low_ns, row.high_ns) if bound is not None]
        grid.add_row(
            change(row.cost_ns),
            kind(row),
            f"{row.count_before:,}",
            f"{row.count_after:,}",
            duration(row.mean_before_ns) if row.mean_before_ns is not None else "",
            duration(row.mean_after_ns) if row.mean_after_ns is not None else "",
            " … ".join(bounds),
            f"{row.p:.2g}",
            cause.names,
        )
    show(grid)
    if len(mutations.causes) > limit:
        click.echo(f"and {len(mutations.causes) - limit:,} more; use --rows to show more")
    for place, cause in enumerate(mutations.causes[:DETAILS]):
        row = cause.first
        click.echo()
        shared = f": {cause.what()}; the largest change of these" if len(cause.rows) > 1 else ""
        click.echo(f"{cause.names}, {kind(row)}{shared}:")
        for line in details(mutations, row, root):
            click.echo(f"  {line}")
        for line in flow_lines(mutations.union(row.category)) if not place or row.kind == "structural" else ():
            click.echo(f"    {line}")
    if len(mutations.causes) > DETAILS:
        click.echo()
        click.echo("use --json to see the others, or --request NAME to select one")
