"""Print the history of a state: who wrote it, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from clew.cli.output.options import place_cell, print_json, print_live_note, show, table

if TYPE_CHECKING:
    from clew.server.session.session import Session

MOST_WRITES = 40
"""The last writes that are printed; --json has all."""


def ask_history(session: Session, name: str, run: str, *, as_json: bool) -> None:
    """Print every recorded write of a state. Raise `ClewError` if none was recorded."""
    from clew.graph.ops.states.history import history_of
    from clew.server.protocol.shared import Location
    from clew.server.session.session import Task
    from clew.server.text import units

    opened = session.open(run, Task())
    history = history_of(opened.graph, name)
    if as_json:
        print_json({"run": session.ref(opened), "state": name, "writes": history.described(history.rows)})
        return
    print_live_note(opened)
    shown = history.described(history.rows[-MOST_WRITES:])
    click.echo(f"{units.count(len(history.rows), 'write')} of {units.printable(name)}, the newest last")
    click.echo()
    several = history.several > 1
    made = table("time", *(("object",) if several else ()), "change", "by", "called by", "in", "place", right=("time",))
    for row in shown:
        numbered = (f"#{row.object}" if row.object else "",) if several else ()
        cells = (row.change, row.writer, row.caller, row.who)
        place = place_cell(Location(row.path, row.line) if row.path else None)
        made.add_row(units.offset(row.ns), *numbered, *map(units.printable, cells), place)
    show(made)
    more = len(history.rows) - len(shown)
    if more:
        click.echo(f"\n{units.count(more, 'earlier write')}: --json has all")
