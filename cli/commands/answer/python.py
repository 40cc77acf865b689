"""`clew python`: open a Python prompt with a run loaded, for questions that no other command answers.

Invariant: only code typed by the user is executed, never the contents of a trace; a mistake in a query is reported in
one sentence.
"""

from __future__ import annotations

import ast
import builtins
import code
import sys
from pathlib import Path
from typing import Any

import click

from clew.cli.output.options import open_session, workspace_option
from clew.records.errors import ClewError

BANNER = """{run} · {events:,} events · `run` is the run, `clew` the module; for example
  run.events.where(level="ERROR").slice("backward").aggregate("function")
See docs/queries.md for more. Press Ctrl-D to exit."""


@click.command()
@click.argument("run", required=False)
@click.option(
    "-c", "statements", metavar="CODE", help="Run CODE instead of a prompt and print the values of expressions."
)
@workspace_option
def python(*, run: str | None, statements: str | None, workspace: Path | None) -> None:
    """Open a Python prompt with `run` set to RUN: an id, a name, a folder or a foreign trace (default: the newest run).

    \b
    Examples:
      clew python
      clew python checkout -c 'run.events.where(kind="log").group_by("level").count()'
      clew python trace.json -c 'run.requests.categories()'
    """
    import clew

    opened = open_session(workspace).open(run or "")
    names = {"__name__": "__console__", "run": opened, "clew": clew}
    shown, sys.displayhook = sys.displayhook, _display
    try:
        if statements is None:
            banner = BANNER.format(run=opened.info.name, events=len(opened.graph))
            _Prompt(names).interact(banner, exitmsg="")
        else:
            _run(statements, names)
    finally:
        sys.displayhook = shown


def _run(statements: str, names: dict[str, Any]) -> None:
    try:
        tree = ast.parse(statements, "<command>")
    except SyntaxError as error:
        raise click.UsageError(f"-c: {error.msg} (line {error.lineno}, column {error.offset})") from None
    for statement in tree.body:
        exec(compile(ast.Interactive([statement]), "<command>", "single"), names)


def _display(value: object) -> None:
    """Print a value with its own display method, or as Python does."""
    if value is None:
        return
    builtins._ = value  # type: ignore[attr-defined]  # as at any prompt
    if hasattr(value, "__rich__"):
        import rich

        rich.print(value)
    else:
        click.echo(repr(value))


class _Prompt(code.InteractiveConsole):
    def showtraceback(self) -> None:
        error = sys.exc_info()[1]
        if isinstance(error, ClewError):
            self.write(f"{error}\n")
        else:
            super().showtraceback()
