"""`clew python`: a Python prompt with a run at hand, for questions that no other command has.

Invariant: what is run is what the user typed, never what a trace holds; a mistake in a question is one sentence.
"""

from __future__ import annotations

import ast
import builtins
import code
import sys
from pathlib import Path
from typing import Any

import click

from clew.cli.common import open_session, workspace_option
from clew.records.errors import ClewError

BANNER = """{run} · {events:,} events · `run` is the run, `clew` the module; for example
  run.events.where(level="ERROR").slice("backward").aggregate("function")
docs/queries.md has the rest; Ctrl-D ends."""


@click.command()
@click.argument("run", required=False)
@click.option(
    "-c", "statements", metavar="CODE", help="Run this instead of a prompt; values of expressions are printed."
)
@workspace_option
def python(*, run: str | None, statements: str | None, workspace: Path | None) -> None:
    """Open a Python prompt with `run`, a RUN given by id, name, folder or as a foreign trace; default: the newest.

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
        raise click.UsageError(f"-c: {error.msg}, at column {error.offset} of line {error.lineno}") from None
    for statement in tree.body:
        exec(compile(ast.Interactive([statement]), "<command>", "single"), names)


def _display(value: object) -> None:
    """Shows what has a look of its own with it, anything else as Python does."""
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
