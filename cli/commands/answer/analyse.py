"""`clew analyse`: run a guided analysis on the terminal: up to three questions, then the findings step by step."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from clew.cli.output.options import json_option, open_session, print_json, show, table, workspace_option
from clew.records.errors import ClewError

if TYPE_CHECKING:
    from clew.server.protocol.views.guide import WizardQuestion, WizardStep


@click.command()
@click.argument("what", type=click.Choice(["errors", "path", "regression"]))
@click.option(
    "--answer", "answers", multiple=True, metavar="ANSWER",
    help="Answer to the next question: a choice's name or number; repeat in order. Open questions are asked.",
)  # fmt: skip
@click.option("--yes", "-y", is_flag=True, help="Answer remaining questions with their first choice.")
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
    """Analyse a run step by step, guided by up to three questions. Enter selects the most likely answer.

    \b
    errors      which errors, their causes, what distinguishes failing requests, suspects
    path        request durations, the critical path of one request, its waits, possible speed-ups
    regression  what became slower since another run, the responsible functions, suspects

    The command saves a query, .clew/queries/NAME.py: the same analysis in Python, to edit and run again. A query that
    you edited is never overwritten.

    \b
    Examples:
      clew analyse errors
      clew analyse path --yes
      clew analyse regression --answer after --answer before --yes
      clew analyse errors --yes --json | jq '.steps[].sentence'
    """
    from clew.server.protocol.views.guide import WizardParams
    from clew.server.session.session import Task
    from clew.server.views.guide import wizard

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
        raise ClewError(
            f"{len(answers)} answers given, but the guide asked {len(chosen)} questions; remove the extra --answer options"
        )
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
        click.echo(f"\nEquivalent Python query: {os.path.relpath(found.saved)}")


def _answer(question: WizardQuestion, given: str | None, *, yes: bool) -> str:
    """Return the value of the selected choice. Raises `ClewError` for an answer that matches no choice."""
    if given is None and yes:
        return question.choices[0].value
    if given is None and not sys.stdin.isatty():
        raise ClewError(f"{question.text} No terminal to ask on; use --yes for the first choice, or --answer")
    if given is None:
        click.echo(f"\n{question.text}", err=True)
        for number, choice in enumerate(question.choices, 1):
            detail = click.style(f"  {choice.detail}", dim=True) if choice.detail else ""
            click.echo(f"  {number}  {choice.title}{detail}", err=True)
        if question.hiddenChoices:
            click.echo(f"     {question.hiddenChoices:,} less likely choices not shown", err=True)
        number = click.prompt(
            "Which", type=click.IntRange(1, len(question.choices)), default=1, show_default=True, err=True
        )
        return question.choices[number - 1].value
    for number, choice in enumerate(question.choices, 1):
        if given in (choice.value, choice.title, str(number)):
            return choice.value
    known = ", ".join(choice.title for choice in question.choices[:8])
    raise ClewError(f"{question.text} Unknown answer {given!r}; expected one of: {known}")


def _print(number: int, step: WizardStep) -> None:
    click.echo()
    click.echo(click.style(f"{number}. {step.title}", bold=True))
    click.echo(step.sentence)
    if step.rows:
        grid = table(*step.columns)
        for row in step.rows:
            grid.add_row(*row.cells)
        show(grid)
    if step.hiddenRows:
        click.echo(f"and {step.hiddenRows:,} more; the query prints them all")
