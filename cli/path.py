"""`clew path`: where the time up to an event went, stretch by stretch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.common import (
    Notes,
    json_option,
    open_session,
    place_cell,
    print_json,
    print_notes,
    run_option,
    show,
    table,
    workspace_option,
)

if TYPE_CHECKING:
    from clew.graph.ops.critical_path import Branch
    from clew.graph.ops.what_if import WhatIf

BRANCHES = 8
"""Branches that are listed without being asked for."""


def _faster(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, float]]:
    """`FUNCTION=10%`: labels, and by how much their work is faster."""
    found = []
    for value in values:
        label, _, percent = value.rpartition("=")
        try:
            found.append((label, float(percent.removesuffix("%"))))
        except ValueError:
            label = ""
        if not label:
            raise click.BadParameter(f"{value!r}: write a function and by how much it is faster, as in app:parse=10%")
    return found


@click.command()
@click.argument("text", required=False)
@click.option("--event", type=int, help="An event by its number in the run.")
@click.option("--function", "function", metavar="MODULE:QUALNAME", help="The newest call of a function.")
@click.option("--level", default="function", show_default=True, help="function, class, module, component, process, …")
@click.option(
    "--rows", type=click.IntRange(3), default=40, show_default=True, help="How many lines; short ones are summed."
)
@click.option(
    "--what-if",
    "faster",
    metavar="FUNCTION=10%",
    callback=_faster,
    multiple=True,
    help="How much sooner it would end if a function (or another label of the level) were that much faster. Repeatable.",
)
@run_option
@workspace_option
@json_option
def path(
    *,
    text: str | None,
    event: int | None,
    function: str | None,
    level: str,
    rows: int,
    faster: list[tuple[str, float]],
    run: str | None,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """Show the critical path to an event: the one chain of work and waiting that its time consists of.

    TEXT is any part of a log message. Without anything, the newest error is meant, or the newest request when there was none.
    Slack says how much sooner a stretch could have ended before something else would have been waited for;
    the column after it, how much sooner all would be over if the stretch's own work took 10 % less. Below are the branches that
    the path left behind, those that nearly delayed it first: by its slack each could have been later. Where events of a stretch
    are missing, or the path comes from another machine whose clock was corrected, a line says so at its place.

    \b
    Examples:
      clew path 'Write request failed'
      clew path --function chunkstore.client:Client.write --run after
      clew path --level component
      clew path --what-if chunkstore.replica:Replica.write=10% --what-if chunkstore.client:Client.write=50%
    """
    from clew.server import wording
    from clew.server.codec import encode
    from clew.server.panel.critical_path import find_path, path_result
    from clew.server.panel.target import NothingFound
    from clew.server.protocol import CriticalPathParams, Target
    from clew.server.session import Task

    if sum(given is not None for given in (text, event, function)) > 1:
        raise click.UsageError("give one of TEXT, --event and --function")
    params = CriticalPathParams(Target(event=event, text=text, function=function), run or "", level, rows)
    session = open_session(workspace)
    target, walked = find_path(session, params, Task())
    found = path_result(session, target, walked, params)
    if not found.segments:
        message = found.message or f"{found.title}: nothing led to it"
        raise NothingFound(message[:1].lower() + message[1:])
    branches = sorted(walked.branches(), key=lambda branch: branch.slack_ns)
    answers = [walked.what_if(label, percent) for label, percent in faster]
    if as_json:
        print_json(
            {**encode(found), "branches": [_branch(it) for it in branches], "whatIf": [_what_if(it) for it in answers]}
        )
        return
    click.echo(f"run {found.run.name}: {found.title}")
    if found.message:
        click.echo(found.message)
    click.echo()
    figures = table(
        "at", "self", "waiting", "slack", "10 % saves", level, "where it ran", "source",
        right=("at", "self", "waiting", "slack", "10 % saves"),
    )  # fmt: skip
    notes, said = Notes(figures, column=5), set[int]()
    for segment in found.segments:
        if segment.clock:
            notes.add(segment.clock)
        figures.add_row(
            wording.offset(segment.startNs),
            wording.duration(segment.selfNs),
            wording.duration(segment.waitNs) if segment.waitNs else "",
            wording.duration(segment.slackNs) if segment.slackNs else "",
            wording.duration(segment.savingNs) if segment.savingNs else "",
            segment.label,
            f"{segment.process} / {segment.strand}" if segment.strand else "",
            place_cell(segment.location),
        )
        for gap in segment.gaps:
            if gap not in said:
                notes.add(f"here {found.gaps[gap].text}")
        said.update(segment.gaps)
    show(figures, notes)
    busy, idle = sum(s.selfNs for s in found.segments), sum(s.waitNs for s in found.segments)
    click.echo(
        f"{wording.duration(found.totalNs)} in all: {wording.duration(busy)} of work and {wording.duration(idle)} of waiting"
    )
    if branches:
        _show_branches(branches)
    for answer in answers:
        click.echo(_sentence(answer))
    print_notes(found.run.problems)


def _show_branches(branches: list[Branch]) -> None:
    from clew.server import wording

    click.echo()
    figures = table("done at", "slack", "left behind", "event", right=("done at", "slack", "event"))
    for branch in branches[:BRANCHES]:
        figures.add_row(wording.offset(branch.end), wording.duration(branch.slack_ns), branch.label, str(branch.event))
    show(figures)
    if len(branches) > BRANCHES:
        click.echo(f"and {wording.count(len(branches) - BRANCHES, 'branch')} with more slack; --json has them all")


def _sentence(answer: WhatIf) -> str:
    from clew.server import wording

    how = f"{abs(answer.percent):g} % {'faster' if answer.percent >= 0 else 'slower'}"
    whole = wording.percent(abs(answer.saved_ns) / answer.total_ns) if answer.total_ns else "0 %"
    change = f"{wording.duration(abs(answer.saved_ns))} {'sooner' if answer.saved_ns >= 0 else 'later'} ({whole})"
    what = (
        f"over {change}, after {wording.duration(answer.after_ns)}"
        if answer.saved_ns
        else "the end comes no sooner, as other work is waited for"
    )
    return f"{answer.label} {how}: {what}; its work takes {wording.duration(answer.work_ns)}"


def _branch(branch: Branch) -> dict[str, object]:
    return {
        "label": branch.label,
        "event": branch.event,
        "endNs": branch.end,
        "joinedBy": branch.joined_by,
        "slackNs": branch.slack_ns,
    }


def _what_if(answer: WhatIf) -> dict[str, object]:
    return {
        "label": answer.label,
        "percent": answer.percent,
        "savedNs": answer.saved_ns,
        "afterNs": answer.after_ns,
        "workNs": answer.work_ns,
    }
