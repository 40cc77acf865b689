"""`clew hang`: who waits for whom, now or at the end of a run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from clew.cli.output.options import json_option, open_session, print_json, show, table, workspace_option

if TYPE_CHECKING:
    from clew.server.views.hang import HangAnswer, HangWait

MOST_ROWS = 20
_TITLES = {
    "waiting": "waiting for a wake-up, which may be normal",
    "idle": "idle: waiting for work, for time, or for others that run",
    "brief": "waiting for less than a second",
}


def candidates(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete PIDs that can be asked and names of runs, for the shell."""
    from clew.records.attach import registry
    from clew.records.run.directory import RunInfo, list_runs, the_workspace

    found = {str(entry.pid): shlex.join(entry.argv) for _, entry in registry.entries()}
    for _, info in list_runs(the_workspace(None)):
        if isinstance(info, RunInfo):
            found.setdefault(info.name, " ".join(info.command))
    return [CompletionItem(name, help=text) for name, text in found.items() if name.startswith(typed)]


@click.command(short_help="Show who waits for whom in a program that hangs.")
@click.argument("which", required=False, default="", metavar="[PID|RUN]", shell_complete=candidates)
@click.option("--all", "every", is_flag=True, help="Also list threads and tasks that wait for work, one by one.")
@click.option(
    "--test", default="", metavar="ID", help="Only the process that ran this test, and those that it started."
)
@workspace_option
@json_option
def hang(*, which: str, every: bool, test: str, workspace: Path | None, as_json: bool) -> None:
    """Show who waits for whom: circles first, then the cause, then each thread and task that cannot continue.

    PID is a running process. If clew records it, its records answer, also after it was killed. Another process has to be
    ready for `clew attach` (started by `clew run --off`, or in the environment of `clew attach --env`): then the stacks of
    its threads and asyncio tasks answer. A holder that only the stacks suggest is marked as inferred. RUN is a run by id,
    name or folder; the default is the newest one. A live run is answered as it is now, another one as it was at its end.

    Threads that wait for work, and those that wait for others that run, are normal. "Nothing hangs" is an answer.

    \b
    Examples:
      clew hang 4711
      clew hang
      clew hang nightly --all
      clew hang 4711 --json
    """
    from clew.server.session.session import Task
    from clew.server.views.hang import answer

    found = answer(open_session(workspace), which, Task(), test)
    if as_json:
        print_json(found)
        return
    print_hang(found, every=every)


def print_hang(found: HangAnswer, *, every: bool = False) -> None:
    """Print an answer as text."""
    click.echo(found.title)
    click.echo()
    if found.verdict:
        inferred = f" (inferred from {found.basis})" if found.certainty == "inferred" and found.basis else ""
        click.echo(found.text + inferred)
    else:
        click.echo(found.summary)
    for circle in found.circles:
        click.echo(f"circle: {' → '.join([*circle, circle[0]])}")
    for limit in found.limits:
        click.echo(f"not known: {limit}")
    blocked = [wait for wait in found.waits if wait.state == "blocked"]
    if blocked:
        click.echo()
        _print_waits(blocked, every=every)
    for state, title in _TITLES.items():
        if waits := [wait for wait in found.waits if wait.state == state]:
            click.echo(f"\n{title}:")
            _print_group(waits, every=every)
    if found.threads:
        click.echo()
        rows = table("thread", "name", "state", "waits in", right=("thread",))
        for thread in found.threads:
            rows.add_row(str(thread.tid), thread.name, thread.state, thread.waitsIn)
        show(rows)
        for line in (line for thread in found.threads[:1] for line in thread.stack[:MOST_ROWS]):
            click.echo(f"  {line}")


def _print_waits(waits: list[HangWait], *, every: bool) -> None:
    rows = table("who", "waits for", "since", "at", "held by")
    shown = waits if every else waits[:MOST_ROWS]
    for wait in shown:
        held = "; ".join(wait.holders) + (" (inferred)" if wait.inferred else "")
        rows.add_row(wait.who, wait.what, _since(wait), wait.where, held or "not known")
    show(rows)
    if len(shown) < len(waits):
        click.echo(f"and {len(waits) - len(shown):,} more; use --all to list them")


def _since(wait: HangWait) -> str:
    from clew.graph.ops.diagnoses.words import seconds

    since = seconds(wait.waitedNs) if wait.waitedNs >= 0 else ""
    limit = f"of at most {wait.limitSeconds:g} s" if wait.limitSeconds is not None else ""
    return f"{since} {limit}".strip()


def _print_group(waits: list[HangWait], *, every: bool) -> None:
    """Print waits that do not block: one line for all that wait for the same at the same line."""
    groups: dict[tuple[str, str], list[str]] = {}
    for wait in waits:
        groups.setdefault((wait.what, wait.where), []).append(wait.who)
    shown = list(groups.items()) if every else list(groups.items())[: MOST_ROWS // 2]
    for (what, where), names in shown:
        more = f" and {len(names) - 3:,} more" if len(names) > 3 and not every else ""
        who = ", ".join(names if every else names[:3]) + more
        click.echo(f"  {who} {'wait' if len(names) > 1 else 'waits'} for {what}" + (f" ({where})" if where else ""))
    if len(shown) < len(groups):
        click.echo(f"  and {len(groups) - len(shown):,} more lines; use --all to list them")
