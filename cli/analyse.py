"""`clew analyse`: a guided analysis on the terminal: at most three questions, then what was found, step by step."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from clew.cli.common import json_option, open_session, print_json, show, table, workspace_option
from clew.records.errors import ClewError

if TYPE_CHECKING:
    from clew.server.protocol import WizardQuestion, WizardStep


@click.command()
@click.argument("what", type=click.Choice(["errors", "path", "regression"]))
@click.option(
    "--answer", "answers", multiple=True, metavar="ANSWER",
    help="To the questions, in their order: a choice's name or number. What is left open is asked.",
)  # fmt: skip
@click.option("--yes", "-y", is_flag=True, help="Take the first choice of every question that is left.")
@workspace_option
@json_option
def analyse(
    what: Literal["errors", "path", "regression"],
    *,
    answers: tuple[str, ...],
    yes: bool,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """Analyse a run step by step, guided by at most three questions; Enter takes the likeliest answer.

    \b
      errors      which errors, what led to one of them, what failing requests do that others do not, suspects
      path        how long requests take, the critical path of one, what it waits for, what would make it faster
      regression  what became slower since another run, which functions did it, where to look

    It leaves a query behind, .clew/queries/NAME.py: the same questions in Python, to be changed and run again. One that you
    changed is never overwritten.

    \b
    Examples:
      clew analyse errors
      clew analyse path --yes
      clew analyse regression --answer after --answer before --yes
      clew analyse errors --yes --json | jq '.steps[].sentence'
    """
    from clew.server.panel.wizard import wizard
    from clew.server.protocol import WizardParams
    from clew.server.session import Task

    session = open_session(workspace)
    chosen: list[str] = []
    found = wizard(session, WizardParams(what, chosen), Task())
    if not as_json:
        click.echo(click.style(found.title, bold=True))
    while found.question is not None:
        given = answers[len(chosen)] if len(chosen) < len(answers) else None
        chosen.append(_answer(found.question, given, yes=yes))
        found = wizard(session, WizardParams(what, chosen), Task())
    if found.message:
        raise ClewError(found.message)
    if len(answers) > len(chosen):
        raise ClewError(f"{len(answers)} answers were given to {len(chosen)} questions")
    steps = []
    for number in range(found.steps):
        found = wizard(session, WizardParams(what, chosen, number), Task())
        assert found.step is not None
        steps.append(found.step)
        if not as_json:
            _print(number + 1, found.step)
    if as_json:
        print_json({"title": found.title, "asked": found.asked, "steps": steps, "saved": found.saved})
    if found.unsaved:
        raise ClewError(found.unsaved)
    if not as_json:
        click.echo(f"\nThe same in Python: {os.path.relpath(found.saved)}")


def _answer(question: WizardQuestion, given: str | None, *, yes: bool) -> str:
    """The value of the chosen one. Raises `ClewError` for an answer that is no choice."""
    if given is None and yes:
        return question.choices[0].value
    if given is None and not sys.stdin.isatty():
        raise ClewError(
            f"{question.text} There is no terminal to ask on; --yes takes the first choice, --answer names one"
        )
    if given is None:
        click.echo(f"\n{question.text}", err=True)
        for number, choice in enumerate(question.choices, 1):
            detail = click.style(f"  {choice.detail}", dim=True) if choice.detail else ""
            click.echo(f"  {number}  {choice.title}{detail}", err=True)
        if question.hiddenChoices:
            click.echo(f"     and {question.hiddenChoices:,} less likely, which cannot be chosen here", err=True)
        number = click.prompt(
            "Which", type=click.IntRange(1, len(question.choices)), default=1, show_default=True, err=True
        )
        return question.choices[number - 1].value
    for number, choice in enumerate(question.choices, 1):
        if given in (choice.value, choice.title, str(number)):
            return choice.value
    known = ", ".join(choice.title for choice in question.choices[:8])
    raise ClewError(f"{question.text} {given!r} is none of the choices: {known}")


def _print(number: int, step: WizardStep) -> None:
    click.echo()
    click.echo(click.style(f"{number}. {step.title}", bold=True))
    click.echo(step.sentence)
    if step.rows:
        figures = table(*step.columns)
        for row in step.rows:
            figures.add_row(*row.cells)
        show(figures)
    if step.hiddenRows:
        click.echo(f"and {step.hiddenRows:,} more, which the query prints")
