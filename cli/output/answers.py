"""Print answers to *why*: the verdict with its steps, all recorded causes, the whole chain, and errors by cause."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from clew.cli.output.options import Notes, on_terminal, place_cell, show, table

if TYPE_CHECKING:
    from rich.text import Text

    from clew.graph.model.graph import ExecutionGraph
    from clew.server.protocol.views.answer import ErrorCauses, FailedTest, Verdict
    from clew.server.protocol.views.slice import ChainStep
    from clew.server.views.why import Explanation

EDGE_WORDS = {"": "", "scope": "began it", "use": "", "sync": "", "state": "state"}
WIDEST = 120
"""The maximum width of a paragraph on a terminal."""
MOST_COUNTED = 20_000
"""With more recorded causes, the steps of the chain are not counted."""


@dataclass(frozen=True)
class Causes:
    """The answer for an event, and the causes of it in its thread, task or request, newest first."""

    event: int
    title: str
    answer: Verdict
    causes: list[ChainStep]


def print_verdict(verdict: Verdict) -> None:
    from clew.server.text.answer import lines

    for line in lines(verdict, _width()):
        click.echo(line)


def print_failed_test(failed: FailedTest) -> None:
    from clew.server.text.failed_test import lines

    for line in lines(failed, _width()):
        click.echo(line)


def _width() -> int:
    """Return the width at which paragraphs fold; 0 (never) unless the output is a terminal."""
    return min(shutil.get_terminal_size().columns, WIDEST) if on_terminal() else 0


def print_more(graph: ExecutionGraph, verdict: Verdict, command: str) -> None:
    """Print the number of steps in the whole chain and of recorded causes, and the command that lists them."""
    from clew.graph.ops.causes.why import why
    from clew.server.text import units
    from clew.server.text.chain import cause_count

    recorded = cause_count(graph, verdict.event)
    # In a thread with very many causes, counting the steps would take longer than the answer.
    steps = len(why(graph, verdict.event)) if recorded <= MOST_COUNTED else 0
    causes = recorded + len(verdict.others)
    parts = [units.count(steps, "step")] if steps > 1 else []
    parts += [units.count(causes, "recorded cause")] if causes else []
    if parts:
        click.echo()
        click.echo(f"more: {', '.join(parts)}: `{command} --event {verdict.event} --causes`")


def print_causes(causes: list[ChainStep], command: str) -> None:
    """Print the causes, equal ones in one row with their number, after the newest of them."""
    from clew.server.text import units

    click.echo()
    if not causes:
        click.echo("No other cause was recorded: only earlier events of its own thread or task led to it.")
        return
    grouped: dict[tuple[str, ...], list[ChainStep]] = {}
    for step in causes:
        place = f"{step.location.path}:{step.location.line}" if step.location else ""
        grouped.setdefault((step.edge, step.channel, step.title, place), []).append(step)
    rows = table(
        "count", "time", "where it ran", "what happened", "source", "because of", "explain it", right=("count", "time")
    )
    for steps in grouped.values():
        step = steps[0]
        rows.add_row(f"{len(steps):,}", *_cells(step), f"{command} --event {step.event}")
    show(rows)
    kinds = Counter(step.channel or step.edge for step in causes)
    counted = ", ".join(f"{number:,} by {kind}" for kind, number in kinds.most_common())
    click.echo(f"{units.count(len(causes), 'cause')}: {counted}")


def print_others(verdict: Verdict) -> None:
    """Print the other findings of the run, each with its diagnosis."""
    for other in verdict.others:
        click.echo()
        click.echo(f"other cause ({other.diagnosis}, {other.certainty}): {other.text}")


def print_chain(answer: Explanation) -> None:
    """Print the recorded chain from the event to its root."""
    from clew.server.text import units
    from clew.server.views.why import summary

    click.echo()
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


def _cells(step: ChainStep) -> tuple[str, str, str, Text, str]:
    from clew.server.text import units

    where, place = f"{step.process} / {step.strand}", place_cell(step.location)
    return units.offset(step.timeNs), where, step.title, place, _because(step)


def _because(step: ChainStep) -> str:
    """Return how the line above depends on this one: `message client-1:7`, `state chunk 17`."""
    from clew.server.text import units

    words = " ".join(part for part in (EDGE_WORDS[step.edge], step.channel, step.key) if part)
    return words + (f" (+{units.count(step.otherCauses, 'other cause')})" if step.otherCauses else "")


def print_error_causes(grouped: ErrorCauses, command: str) -> None:
    """Print each cause with the number of its errors, their times, the verdict and a command for one of them."""
    from clew.server.text.answer import cause_lines

    for cause in grouped.causes:
        click.echo()
        for line in cause_lines(cause, f"{command} --event {cause.event}", _width()):
            click.echo(line)
    if grouped.omitted:
        click.echo()
        click.echo(f"{grouped.omitted:,} errors with rare messages are not shown")
