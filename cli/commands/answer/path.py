"""`clew path`: show where the time up to an event went, segment by segment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.output.options import (
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
    from clew.graph.ops.timing.critical_path import Branch
    from clew.graph.ops.timing.what_if import WhatIf

BRANCHES = 8
"""Number of branches listed by default."""


def _faster(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, float]]:
    """Parse `FUNCTION=10%` into labels and their speed-ups."""
    found = []
    for value in values:
        label, _, percent = value.rpartition("=")
        try:
            found.append((label, float(percent.removesuffix("%"))))
        except ValueError:
            label = ""
        if not label:
            raise click.BadParameter(f"{value!r}: expected FUNCTION=SHARE, for example app:parse=10%")
    return found


@click.command()
@click.argument("text", required=False)
@click.option("--event", type=int, help="An event, by its number in the run.")
@click.option("--function", "function", metavar="MODULE:QUALNAME", help="The newest call of a function.")
@click.option(
    "--level", default="function", show_default=True, help="Group by function, class, module, component, process, …"
)
@click.option(
    "--rows", type=click.IntRange(3), default=40, show_default=True, help="Maximum rows; short segments are summed."
)
@click.option(
    "--what-if",
    "faster",
    metavar="FUNCTION=10%",
    callback=_faster,
    multiple=True,
    help="Predict the effect of speeding up a function (or another label of the level) by SHARE. Repeatable.",
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
    """Show the critical path to an event: the chain of work and waiting that accounts for its time.

    TEXT is any part of a log message. The default is the newest error, or the newest request when no error was
    recorded. *slack* is how much shorter a segment could be before the event waits for another branch. *10 % saves* is
    how much sooner the event ends if the segment's own work takes 10 % less. The second table lists branches that left
    the path, the most critical first; *slack* there is the delay each could have absorbed. Rows mark missing events,
    and corrected clocks of other machines. If the event is an error, or its request logged one, the verdict of `clew why`
    for that error comes first.

    \b
    Examples:
      clew path 'Write request failed'
      clew path --function chunkstore.client:Client.write --run after
      clew path --level component
      clew path --what-if chunkstore.replica:Replica.write=10% --what-if chunkstore.client:Client.write=50%
    """
    from clew.server.protocol.codec import encode
    from clew.server.protocol.shared import Target
    from clew.server.protocol.views.critical_path import CriticalPathParams
    from clew.server.session.session import Task
    from clew.server.text import units
    from clew.server.text.answer import brief
    from clew.server.views.answer import error_verdict
    from clew.server.views.critical_path import find_path, path_result
    from clew.server.views.target import NothingFound

    if sum(given is not None for given in (text, event, function)) > 1:
        raise click.UsageError("give one of TEXT, --event and --function")
    params = CriticalPathParams(Target(event=event, text=text, function=function), run or "", level, rows)
    session = open_session(workspace)
    target, walked = find_path(session, params, Task())
    found = path_result(session, target, walked, params)
    if not found.segments and not walked.limits:
        message = found.message or f"{found.title}: no causes were recorded"
        raise NothingFound(message[:1].lower() + message[1:])
    branches = sorted(walked.branches(), key=lambda branch: branch.slack_ns)
    answers = [walked.what_if(label, percent) for label, percent in faster]
    verdict = error_verdict(walked.graph, target.event)
    if as_json:
        more = {"branches": [_branch(it) for it in branches], "whatIf": [_what_if(it) for it in answers]}
        print_json({**encode(found), **more, "verdict": verdict})
        return
    click.echo(f"run {found.run.name}: {found.title}")
    if found.message:
        click.echo(found.message)
    if verdict is not None:
        click.echo()
        for line in (verdict.title, *brief(verdict)):
            if line not in walked.limits:  # the message has these
                click.echo(line)
    if not found.segments:
        return
    click.echo()
    grid = table(
        "at", "self", "waiting", "slack", "10 % saves", level, "where it ran", "source",
        right=("at", "self", "waiting", "slack", "10 % saves"),
    )  # fmt: skip
    notes, shown_gaps = Notes(grid, column=5), set[int]()
    for segment in found.segments:
        if segment.clock:
            notes.add(segment.clock)
        grid.add_row(
            units.offset(segment.startNs),
            units.duration(segment.selfNs),
            units.duration(segment.waitNs) if segment.waitNs else "",
            units.duration(segment.slackNs) if segment.slackNs else "",
            units.duration(segment.savingNs) if segment.savingNs else "",
            segment.label,
            f"{segment.process} / {segment.strand}" if segment.strand else "",
            place_cell(segment.location),
        )
        for gap in segment.gaps:
            if gap not in shown_gaps:
                notes.add(f"here {found.gaps[gap].text}")
        shown_gaps.update(segment.gaps)
    show(grid, notes)
    busy, idle = sum(s.selfNs for s in found.segments), sum(s.waitNs for s in found.segments)
    click.echo(
        f"{units.duration(found.totalNs)} in total: {units.duration(busy)} of work and {units.duration(idle)} of waiting"
    )
    if branches:
        _show_branches(branches)
    for answer in answers:
        click.echo(_sentence(answer))
    print_notes(found.run.problems)


def _show_branches(branches: list[Branch]) -> None:
    from clew.server.text import units

    click.echo()
    grid = table("done at", "slack", "left behind", "event", right=("done at", "slack", "event"))
    for branch in branches[:BRANCHES]:
        grid.add_row(units.offset(branch.end), units.duration(branch.slack_ns), branch.label, str(branch.event))
    show(grid)
    if len(branches) > BRANCHES:
        click.echo(f"and {units.count(len(branches) - BRANCHES, 'branch')} with more slack; use --json to see all")


def _sentence(answer: WhatIf) -> str:
    from clew.server.text import units

    how = f"{abs(answer.percent):g} % {'faster' if answer.percent >= 0 else 'slower'}"
    whole = units.percent(abs(answer.saved_ns) / answer.total_ns) if answer.total_ns else "0 %"
    change = f"{units.duration(abs(answer.saved_ns))} {'sooner' if answer.saved_ns >= 0 else 'later'} ({whole})"
    what = (
        f"over {change}, after {units.duration(answer.after_ns)}"
        if answer.saved_ns
        else "the end comes no sooner, because other work becomes critical"
    )
    return f"{answer.label} {how}: {what}; its work takes {units.duration(answer.work_ns)}"


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
