"""`clew why --not TEXT`: its options and its output."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from clew.cli.output.options import open_session, print_json, print_live_note, print_problems, why_command

F = TypeVar("F", bound=Callable[..., Any])


def absence_options(function: F) -> F:
    """Add the options of `clew why --not`."""
    for option in (
        click.option("--baseline", metavar="RUN", help="A run that went well, to compare with."),
        click.option("--request", metavar="NAME", help="With --not: ask about the newest request of this name."),
        click.option(
            "--not", "missing", metavar="TEXT", help="Explain why a log line, or a call of a function, did not happen."
        ),
    ):
        function = option(function)
    return function


def why_not(
    text: str, event: int | None, options: dict[str, str | None], workspace: Path | None, *, as_json: bool
) -> None:
    """Print why `text` did not happen. `options` has `run`, `request` and `baseline`."""
    from clew.server.session.session import Task
    from clew.server.text import units
    from clew.server.views.absence import AbsenceQuestion, explain_absence

    session = open_session(workspace)
    asked = AbsenceQuestion(text, event, **{name: value or "" for name, value in options.items()})
    run, found = explain_absence(session, asked, Task())
    print_live_note(run)
    if as_json:
        print_json(found)
        return
    click.echo(f"run {run.info.name} ({units.when(run.info.started)})")
    click.echo()
    for sentence in (*found.limits, *(claim.text for claim in found.verdict)):
        click.echo(sentence)
    click.echo(f"How sure: {found.sure}" + (f"; try `{found.remedy}`" if found.remedy else ""))
    if found.certainty != "unknown":
        click.echo()
        click.echo(f"more: `{why_command(session, run, options['run'])} --event {found.event}`")
    print_problems(run)
