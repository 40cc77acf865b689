"""`clew path`: where the time up to an event went, stretch by stretch."""

from __future__ import annotations

from pathlib import Path

import click

from clew.cli.common import (
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


@click.command()
@click.argument("text", required=False)
@click.option("--event", type=int, help="An event by its number in the run.")
@click.option("--function", "function", metavar="MODULE:QUALNAME", help="The newest call of a function.")
@click.option("--level", default="function", show_default=True, help="function, class, module, component, process, …")
@click.option(
    "--rows", type=click.IntRange(3), default=40, show_default=True, help="How many lines; short ones are summed."
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
    run: str | None,
    workspace: Path | None,
    as_json: bool,
) -> None:
    """Show the critical path to an event: the one chain of work and waiting that its time consists of.

    TEXT is any part of a log message. Without anything, the newest error is meant, or the newest request when there was none.
    Slack says how much sooner a stretch could have ended before something else would have been waited for;
    the column after it, how much sooner all would be over if the stretch's own work took 10 % less.

    \b
    Examples:
      clew path 'Write request failed'
      clew path --function chunkstore.client:Client.write --run after
      clew path --level component
    """
    from clew.server import wording
    from clew.server.panel.critical_path import critical_path_view
    from clew.server.panel.target import NothingFound
    from clew.server.protocol import CriticalPathParams, Target
    from clew.server.session import Task

    if sum(given is not None for given in (text, event, function)) > 1:
        raise click.UsageError("give one of TEXT, --event and --function")
    params = CriticalPathParams(Target(event=event, text=text, function=function), run or "", level, rows)
    found = critical_path_view(open_session(workspace), params, Task())
    if not found.segments:
        message = found.message or f"{found.title}: nothing led to it"
        raise NothingFound(message[:1].lower() + message[1:])
    if as_json:
        print_json(found)
        return
    click.echo(f"run {found.run.name}: {found.title}")
    if found.message:
        click.echo(found.message)
    click.echo()
    figures = table(
        "at", "self", "waiting", "slack", "10 % saves", level, "where it ran", "source",
        right=("at", "self", "waiting", "slack", "10 % saves"),
    )  # fmt: skip
    for segment in found.segments:
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
    show(figures)
    busy, idle = sum(s.selfNs for s in found.segments), sum(s.waitNs for s in found.segments)
    click.echo(
        f"{wording.duration(found.totalNs)} in all: {wording.duration(busy)} of work and {wording.duration(idle)} of waiting"
    )
    print_notes(found.run.problems)
