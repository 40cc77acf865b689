"""Share options and output between commands: the run, text or JSON, and colours only on a terminal."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clew.graph.render.library import library_place
from clew.records.run.directory import the_workspace

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from clew.query.api import Run
    from clew.server.protocol.shared import Location, Target
    from clew.server.session.session import Session

F = TypeVar("F", bound=Callable[..., Any])


def run_option(function: F) -> F:
    return click.option(
        "--run",
        "run",
        metavar="RUN",
        help="A run: id, name, folder, or a foreign trace (comma-separated files). Default: the newest.",
    )(function)


def workspace_option(function: F) -> F:
    return click.option(
        "--workspace",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="Folder that contains .clew. Default: searched from the working directory upwards.",
    )(function)


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")(function)


def open_session(workspace: Path | None) -> Session:
    """Open the workspace's runs. Importing a foreign file that is given instead of a run shows a progress bar."""
    from clew.cli.output.progress import ImportBar
    from clew.server.session.session import Session

    session = Session(the_workspace(workspace))
    session.importing = ImportBar()
    return session


def target_of(text: str | None, at: str | None, event: int | None, test: str | None = None) -> Target:
    """Build the target of a query from at most one of four options. Raises `UsageError`."""
    from clew.server.protocol.shared import Location, Target

    if sum(given is not None for given in (text, at, event, test)) > 1:
        raise click.UsageError(
            f"use only one of TEXT, --at{',' if test else ' and'} --event{' and --test' if test else ''}"
        )
    if test is not None:
        return Target(test=test)
    if text == "-":
        return Target(line=_piped())
    if text is not None and _is_place(text):
        at, text = text, None
    if at is None:
        return Target(event=event, text=text)
    file, colon, line = at.rpartition(":")
    if not colon or not line.isdecimal():
        raise click.UsageError(f"--at {at!r}: expected FILE:LINE, for example app.py:42")
    path = Path(file)
    return Target(location=Location(str(path.absolute()) if path.exists() else file, int(line)))


def _piped() -> str:
    """Return the first non-empty line of standard input."""
    piped = next((line for line in sys.stdin.buffer if line.strip()), b"")
    if not piped:
        raise click.UsageError("`-` expects a log line on standard input, which is empty")
    return piped.decode("utf-8", "replace").rstrip("\r\n")


def _is_place(text: str) -> bool:
    file, _, line = text.rpartition(":")
    return line.isdecimal() and Path(file).is_file()


def print_json(value: object) -> None:
    """Print a dataclass of the protocol, or plain data, with its keys in a fixed order."""
    from clew.server.protocol.codec import encode

    click.echo(json.dumps(encode(value), indent=2, ensure_ascii=False))


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """Return an empty table without lines. Columns named in `right` hold numbers. Cells are text, never markup."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True, padding=(0, 2, 0, 0))
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", no_wrap=name in right, overflow="fold")
    return made


def place_cell(location: Location | None) -> Text:
    """Format a source location for a table; locations in libraries are dimmed."""
    from rich.text import Text

    from clew.server.text import units

    if location is None:
        return Text("")
    return Text(units.place(location.path, location.line), "dim" if library_place(location.path) else "")


class Notes:
    """Full sentences between the rows of a table. On a terminal a note is folded in one column; otherwise it spans all
    columns, so that it widens none."""

    def __init__(self, rows: Table, column: int) -> None:
        self.rows, self.column = rows, column
        self.across: dict[int, str] = {}

    def add(self, text: str) -> None:
        """Add a note after the current last row."""
        cells = [""] * len(self.rows.columns)
        if on_terminal():
            cells[self.column] = text
        else:
            self.across[self.rows.row_count] = text
        self.rows.add_row(*cells)


def on_terminal() -> bool:
    """Return whether standard output is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def show(what: Table, notes: Notes | None = None) -> None:
    """Print a table on stdout: coloured and folded to the terminal's width, or one plain line per row."""
    from rich.console import Console

    from clew.cli.output.narrow_tables import is_too_narrow, stacked

    if on_terminal():
        console = Console(highlight=False, markup=False, emoji=False)
        console.print(stacked(console.width, what) if is_too_narrow(console.width, what) else what)
        return
    plain = Console(width=100_000, color_system=None, force_terminal=False, markup=False, emoji=False)
    with plain.capture() as captured:
        plain.print(what)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    for row, text in notes.across.items() if notes is not None else ():
        lines[row + 1] = f"  {text}"  # skip the header
    click.echo("".join(line + "\n" for line in lines), nl=False)


def markdown_table(what: Table) -> str:
    """Format a table in GitHub Flavored Markdown."""
    cells = [list(column.cells) for column in what.columns]
    lines = [
        [str(column.header) for column in what.columns],
        ["---:" if column.justify == "right" else "---" for column in what.columns],
        *([str(cell).replace("|", "\\|") for cell in row] for row in zip(*cells, strict=True)),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def why_command(session: Session, run: Run, which: str | None) -> str:
    """Return the command that asks about the same run: `clew why --run before`; the newest run needs no name."""
    newest = run.folder == session.folder()
    name = which or ("" if newest else run.info.name)
    return f"clew why --run {shlex.quote(name)}" if name else "clew why"


def print_problems(run: Run) -> None:
    """Print the problems of a run on stderr, so that users can judge the answers."""
    from clew.server.text import units

    places: dict[str, list[str]] = {}
    for it in run.problems:
        what = units.within(run.folder, it.what + (f" ({it.lost})" if it.lost else ""))
        places.setdefault(what, []).append(_where(units.within(run.folder, it.where)))
    notes = []
    for what, where in places.items():
        others = len(dict.fromkeys(where)) - 1
        said = not others and what.startswith(f"{where[0]} ")  # the message names the process itself
        notes.append(what if said else f"{where[0]}{f' and {others} more' if others else ''}: {what}")
    print_notes(notes)


def print_live_note(run: Run) -> None:
    """Note on stderr that the event numbers of a live run are valid only now."""
    from clew.server.session.session import run_ref

    if not run_ref(run.folder, run.info).finished:
        print_notes([f"run {run.info.name} is live: event numbers are valid now and change as events arrive"])


def _where(file: str) -> str:
    """Return the process that wrote a trace file; a position in a file stays unchanged."""
    process = re.fullmatch(r"(\d+)-[0-9a-f]{16}\.clewz?", file)
    return f"process {process[1]}" if process else file


def print_notes(notes: Sequence[str], limit: int = 3) -> None:
    """Print each distinct note once, with its count."""
    counted = Counter(notes)
    for note, times in list(counted.items())[:limit]:
        click.echo(f"clew: note: {note}{f' ({times} times)' if times > 1 else ''}", err=True)
    if len(counted) > limit:
        click.echo(f"clew: note: and {len(counted) - limit} more; use --json to see all", err=True)
