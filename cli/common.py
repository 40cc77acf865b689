"""Options and output that the commands share: which run, text or JSON, colours only on a terminal."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clew.records.run import the_workspace

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from clew.graph.query import Run
    from clew.server.protocol import Location, Target
    from clew.server.session import Session

F = TypeVar("F", bound=Callable[..., Any])


def run_option(function: F) -> F:
    return click.option(
        "--run",
        "run",
        metavar="RUN",
        help="A run: id, name, folder, or a foreign trace (its files with commas between). Default: the newest.",
    )(function)


def workspace_option(function: F) -> F:
    return click.option(
        "--workspace",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        help="The folder that holds .clew. Default: found from the working directory upwards.",
    )(function)


def json_option(function: F) -> F:
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")(function)


def open_session(workspace: Path | None) -> Session:
    """The workspace's runs; the import of a foreign file that is given instead of a run shows a bar."""
    from clew.cli.importing import ImportBar
    from clew.server.session import Session

    session = Session(the_workspace(workspace))
    session.importing = ImportBar()
    return session


def target_of(text: str | None, at: str | None, event: int | None) -> Target:
    """What is asked about, of which at most one is given. Raises `UsageError`."""
    from clew.server.protocol import Location, Target

    if sum(given is not None for given in (text, at, event)) > 1:
        raise click.UsageError("give one of TEXT, --at and --event")
    if text == "-":
        return Target(line=_piped())
    if text is not None and _is_place(text):
        at, text = text, None
    if at is None:
        return Target(event=event, text=text)
    file, colon, line = at.rpartition(":")
    if not colon or not line.isdecimal():
        raise click.UsageError(f"--at is a file and a line, as in app.py:42, not {at!r}")
    path = Path(file)
    return Target(location=Location(str(path.absolute()) if path.exists() else file, int(line)))


def _piped() -> str:
    """The first line of standard input that is not empty."""
    piped = next((line for line in sys.stdin.buffer if line.strip()), b"")
    if not piped:
        raise click.UsageError("- reads a line of a log from standard input, and there is none")
    return piped.decode("utf-8", "replace").rstrip("\r\n")


def _is_place(text: str) -> bool:
    file, _, line = text.rpartition(":")
    return line.isdecimal() and Path(file).is_file()


def print_json(value: object) -> None:
    """A dataclass of the protocol, or plain data, with its keys in a fixed order."""
    from clew.server.codec import encode

    click.echo(json.dumps(encode(value), indent=2, ensure_ascii=False))


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table without lines; the columns named in `right` hold numbers. Rows are text, never markup."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, header_style="bold", collapse_padding=True, padding=(0, 2, 0, 0))
    for name in columns:
        made.add_column(name, justify="right" if name in right else "left", no_wrap=name in right, overflow="fold")
    return made


def place_cell(location: Location | None) -> Text:
    """A place as a table shows it: what lies in a library, where the user is not at home, is dimmed."""
    from rich.text import Text

    from clew.server import wording

    if location is None:
        return Text("")
    return Text(wording.place(location.path, location.line), "dim" if wording.library_place(location.path) else "")


class Notes:
    """Lines between a table's rows, each a sentence: folded in a column on a terminal, else across all of them, so that it
    makes none wider."""

    def __init__(self, rows: Table, column: int) -> None:
        self.rows, self.column = rows, column
        self.across: dict[int, str] = {}

    def add(self, text: str) -> None:
        """After the rows that are there."""
        cells = [""] * len(self.rows.columns)
        if _on_terminal():
            cells[self.column] = text
        else:
            self.across[self.rows.row_count] = text
        self.rows.add_row(*cells)


def _on_terminal() -> bool:
    return sys.stdout is not None and sys.stdout.isatty()


def show(what: Table, notes: Notes | None = None) -> None:
    """Prints a table on stdout: coloured and folded to the terminal's width, or else each row as one plain line."""
    from rich.console import Console

    from clew.cli.narrow import is_too_narrow, stacked

    if _on_terminal():
        console = Console(highlight=False, markup=False, emoji=False)
        console.print(stacked(console.width, what) if is_too_narrow(console.width, what) else what)
        return
    plain = Console(width=100_000, color_system=None, force_terminal=False, markup=False, emoji=False)
    with plain.capture() as captured:
        plain.print(what)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    for row, text in notes.across.items() if notes is not None else ():
        lines[row + 1] = f"  {text}"  # below the header
    click.echo("".join(line + "\n" for line in lines), nl=False)


def markdown_table(what: Table) -> str:
    """The same in GitHub's flavour."""
    cells = [list(column.cells) for column in what.columns]
    lines = [
        [str(column.header) for column in what.columns],
        ["---:" if column.justify == "right" else "---" for column in what.columns],
        *([str(cell).replace("|", "\\|") for cell in row] for row in zip(*cells, strict=True)),
    ]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def print_problems(run: Run) -> None:
    """What was odd about a run, on stderr, so that no answer is trusted more than it should be."""
    from clew.server import wording

    places: dict[str, list[str]] = {}
    for it in run.problems:
        what = wording.within(run.folder, it.what + (f" ({it.lost})" if it.lost else ""))
        places.setdefault(what, []).append(_where(wording.within(run.folder, it.where)))
    notes = []
    for what, where in places.items():
        others = len(dict.fromkeys(where)) - 1
        said = not others and what.startswith(f"{where[0]} ")  # it names the process itself
        notes.append(what if said else f"{where[0]}{f' and {others} more' if others else ''}: {what}")
    print_notes(notes)


def print_going_on(run: Run) -> None:
    """Of a run that goes on, on stderr, that the numbers of its events are those of now."""
    from clew.server.session import run_ref

    if not run_ref(run.folder, run.info).finished:
        print_notes(
            [f"run {run.info.name} goes on: its events have the numbers of now, and others when there are more"]
        )


def _where(file: str) -> str:
    """A process's trace file by the process; a place in it stays what it is."""
    process = re.fullmatch(r"(\d+)-[0-9a-f]{16}\.clewz?", file)
    return f"process {process[1]}" if process else file


def print_notes(notes: Sequence[str], limit: int = 3) -> None:
    """Each note once, with how often there is one like it."""
    counted = Counter(notes)
    for note, times in list(counted.items())[:limit]:
        click.echo(f"clew: note: {note}{f' ({times} times)' if times > 1 else ''}", err=True)
    if len(counted) > limit:
        click.echo(f"clew: note: and {len(counted) - limit} more; --json has them all", err=True)
