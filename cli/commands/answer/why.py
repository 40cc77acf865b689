"""`clew why`: walk from a log line (or another event) back to its root cause, one step a line."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.output.options import (
    Notes,
    json_option,
    open_session,
    place_cell,
    print_json,
    print_live_note,
    print_problems,
    run_option,
    show,
    table,
    target_of,
    workspace_option,
)

if TYPE_CHECKING:
    from rich.text import Text

    from clew.server.protocol.views.slice import ChainStep
    from clew.server.views.why import Explanation


@dataclass(frozen=True)
class Causes:
    """Causes of an event in its thread, task or request, newest first."""

    event: int
    title: str
    causes: list[ChainStep]


EDGE_WORDS = {"": "", "scope": "began it", "use": "", "sync": "", "state": "state"}


@click.command()
@click.argument("text", required=False)
@click.option("--at", metavar="FILE:LINE", help="A line of a log file, a logging call, or a function's last call.")
@click.option("--event", type=int, help="An event, by its number in the run (see the JSON output).")
@click.option("--all", "every", is_flag=True, help="Explain every matching log line, not only the newest.")
@click.option("--causes", is_flag=True, help="List every cause of the event, newest first, instead of one chain.")
@click.option(
    "--steps",
    "steps_at_most",
    type=click.IntRange(2),
    default=1000,
    show_default=True,
    help="Maximum steps; a longer chain is shortened in the middle.",
)
@run_option
@workspace_option
@json_option
def why(
    *,
    text: str | None,
    at: str | None,
    event: int | None,
    every: bool,
    causes: bool,
    steps_at_most: int,
    run: str | None,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """Walk back from a log line to its cause.

    TEXT is any part of a log message, a whole log line (text or JSON), or FILE:LINE, a line of a log file or of source.
    `-` reads the line from standard input. The default is the newest error, or the last error of the failed test. The
    first printed line is the event itself, the last one is the root: a request, or the start of a task, thread or
    process. A note marks missing events on the way. A note at a step from another machine shows that machine's clock
    correction and the uncertainty of the time difference.

    \b
    Examples:
      clew why 'Write request failed'
      clew why server.log:17
      grep -m1 'timed out' server.log.1 | clew why -
      clew why --at chunkstore/client.py:42 --run before
      clew why 'timed out' --all --json
      clew why 'timed out' --causes
      clew why 'timed out' --steps 20
    """
    from clew.server.session.session import Task
    from clew.server.text import units
    from clew.server.text.chain import causes_of
    from clew.server.text.events import event_title
    from clew.server.views.target import find_target
    from clew.server.views.why import explain

    session = open_session(workspace)
    found = find_target(session, run or "", target_of(text, at, event), Task(), every=every)
    graph = found.run.graph
    print_live_note(found.run)
    answers: list[Explanation] | list[Causes]
    if causes:
        answers = [Causes(one, event_title(graph, one), causes_of(graph, one)) for one in found.events]
    else:
        answers = [explain(graph, one, steps_at_most) for one in found.events]
    if as_json:
        print_json({"run": session.ref(found.run), "matches": found.matches, "answers": answers})
        return
    head = f"run {found.run.info.name} ({units.when(found.run.info.started)})"
    if found.matches > len(found.events):
        if found.reasons:
            likeliest = f"this is the likeliest ({', '.join(found.reasons)})"
            head += f": {found.matches:,} events may have written it, {likeliest}; use --all to see the next ones"
        else:
            head += f": {found.matches:,} match, this is the newest; use --all to see every one"
    click.echo(head)
    for answer in answers:
        click.echo()
        if isinstance(answer, Causes):
            _print_causes(answer, f"clew why --run {shlex.quote(run)}" if run else "clew why")
        else:
            _print(answer)
    print_problems(found.run)


def _print(answer: Explanation) -> None:
    from clew.server.text import units
    from clew.server.views.why import summary

    rows = table("time", "where it ran", "what happened", "source", "because of", right=("time",))
    notes = Notes(rows, column=2)
    shown = len(answer.chain)
    for number, step in enumerate(answer.chain):
        if answer.hiddenSteps and number == shown - shown // 2:
            notes.add(
                f"{units.count(answer.hiddenSteps, 'step')} not shown; use --steps {shown + answer.hiddenSteps} to show all"
            )
        if step.clock:
            notes.add(step.clock)
        rows.add_row(*_cells(step))
        for gap in step.gaps:
            notes.add(f"here {gap.text}")
        if step.hiddenGaps:
            notes.add(f"here {units.count(step.hiddenGaps, 'more gap')}")
    show(rows, notes)
    if answer.meeting is not None:
        it = answer.meeting
        click.echo(f"all causal paths lead through event {it.event}: {it.title}, in {it.process} / {it.strand}")
    click.echo(f"{units.count(shown + answer.hiddenSteps, 'step')} · {summary(answer.numbers)}")


def _print_causes(answer: Causes, command: str) -> None:
    from clew.server.text import units

    click.echo(answer.title)
    if not answer.causes:
        click.echo("No other cause was recorded: only earlier events of its own thread or task led to it.")
        return
    click.echo()
    rows = table("time", "where it ran", "what happened", "source", "because of", "explain it", right=("time",))
    for step in answer.causes:
        rows.add_row(*_cells(step), f"{command} --event {step.event}")
    show(rows)
    click.echo(units.count(len(answer.causes), "cause"))


def _cells(step: ChainStep) -> tuple[str, str, str, Text, str]:
    from clew.server.text import units

    where, place = f"{step.process} / {step.strand}", place_cell(step.location)
    return units.offset(step.timeNs), where, step.title, place, _because(step)


def _because(step: ChainStep) -> str:
    """Return how the line above depends on this one: `message client-1:7`, `state chunk 17`."""
    from clew.server.text import units

    words = " ".join(part for part in (EDGE_WORDS[step.edge], step.channel, step.key) if part)
    return words + (f" (+{units.count(step.otherCauses, 'other cause')})" if step.otherCauses else "")
