"""`clew sql`: run a SELECT over a run's tables and print a table, JSON or CSV."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Any

import click

from clew.cli.output.options import (
    json_option,
    open_session,
    print_json,
    print_live_note,
    print_problems,
    show,
    table,
    workspace_option,
)

_SHOWN = 200
"""Rows of a table on the terminal; JSON and CSV contain all rows."""


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="[RUN] STATEMENT")
@click.option(
    "--param", "parameters", multiple=True, metavar="VALUE", help="Value for the next `?` placeholder; repeat in order."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV with a header.")
@workspace_option
@json_option
def sql(
    *, words: tuple[str, ...], parameters: tuple[str, ...], as_csv: bool, workspace: Path | None, as_json: bool
) -> None:
    """Run a SELECT over a run's tables: events, logs, edges, calls, payloads, regions, strands, processes, locations.

    RUN is a run's id, name or folder, or a trace of another tool; the default is the newest run. See docs/store.md for
    the columns of every table. Times are in nanoseconds. Statements are read-only.

    \b
    Examples:
      clew sql 'select kind, count(*) from events group by kind order by 2 desc'
      clew sql before "select level, text from logs where level = 'ERROR'"
      clew sql --param '%chunk-0040%' 'select event, text from logs where text like ?' --json
      clew sql 'select * from edges' --csv > edges.csv
    """
    if len(words) > 2:
        raise click.UsageError("expected at most one RUN and one quoted STATEMENT")
    if as_csv and as_json:
        raise click.UsageError("use either --json or --csv")
    run = open_session(workspace).open(words[0] if len(words) > 1 else "")
    found = run.sql(words[-1], list(parameters))
    print_live_note(run)
    if as_json:
        print_json([dict(zip(found.columns, map(_plain, row), strict=True)) for row in found])
        return
    if as_csv:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(found.columns)
        writer.writerows(found)
        click.echo(text.getvalue(), nl=False)
        return
    numeric = [name for name, values in zip(found.columns, found.table.schema.types, strict=True) if _is_number(values)]
    lines = table(*found.columns, right=tuple(numeric))
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    for number, row in enumerate(found):
        if on_terminal and number == _SHOWN:
            break
        lines.add_row(*("" if value is None else str(value) for value in row))
    show(lines)
    if on_terminal and len(found) > _SHOWN:
        click.echo(f"and {len(found) - _SHOWN:,} more rows; use --csv or --json for all", err=True)
    print_problems(run)


def _is_number(of: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(of) or types.is_floating(of) or types.is_decimal(of))


def _plain(value: Any) -> Any:
    """Convert a value to a JSON type; other types become their text."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
