"""`clew attach`: record a running program, change its recording, or list the programs that can be recorded.

Invariant: a process that cannot be attached to stays untouched, and leaves no run.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from clew.cli.output.options import json_option, print_json, show, table, workspace_option
from clew.cli.output.stderr import say
from clew.cli.recording.plan_options import SAMPLES_NOTHING, chosen_plan
from clew.cli.recording.record import program_name
from clew.instrument.recorder.redaction import Redaction
from clew.instrument.run_environment import environment
from clew.records.attach import client, registry
from clew.records.attach.registry import Entry
from clew.records.collector.launch import start_collector
from clew.records.plan.plan import Plan, dump, samples_nothing
from clew.records.run.directory import (
    create_run,
    list_runs,
    load_plan_text,
    remove_run,
    save_plan,
    the_workspace,
    workspace_of,
)


def beginning(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete PIDs that can be attached to or detached from, with their commands, for the shell."""
    ends = context.command.name == "detach" or context.params.get("off")
    return [
        CompletionItem(str(entry.pid), help=shlex.join(entry.argv))
        for _, entry in registry.entries()
        if str(entry.pid).startswith(typed) and (entry.run or not ends)
    ]


@click.command(short_help="Record a running program.")
@click.option("--list", "listing", is_flag=True, help="List the processes that can be attached to.")
@click.option(
    "--env", "as_environment", is_flag=True, help="Print the environment that makes programs ready; see above."
)
@click.option("--off", is_flag=True, help="End the recording, like `clew detach`.")
@click.option(
    "--spec", type=click.Path(path_type=Path), help="Spec of the recording, a file in ESL. Default: as for `clew run`."
)
@click.option("--name", help="Name of the run, for `clew diff before after`. Default: the program's name.")
@workspace_option
@click.option("--budget", help="Maximum share of run time that recording costs: 3%, or `none`.")
@click.option("--quota", help="Maximum bytes on disk per process: 512MB, 2GB.")
@click.option(
    "--keep",
    type=click.Choice(["oldest", "newest"]),
    help="At the quota, keep the oldest events (recording stops) or the newest.",
)
@click.option("--sample", help="Share of request flows to record: 10%. A flow is recorded entirely or not at all.")
@click.option("--no-output", is_flag=True, help="Do not record the lines that the program writes to stdout and stderr.")
@click.option(
    "--writes",
    is_flag=True,
    help="Also record what functions write to attributes, containers, variables, rows of SQLite and keys of redis.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Value of a parameter of the spec. Repeatable."
)
@json_option
@click.argument("pids", nargs=-1, type=click.IntRange(min=1), metavar="PID...", shell_complete=beginning)
@click.pass_context
def attach(  # noqa: PLR0917 - click passes them by name
    context: click.Context,
    listing: bool,
    as_environment: bool,
    off: bool,
    spec: Path | None,
    name: str | None,
    workspace: Path | None,
    budget: str | None,
    quota: str | None,
    keep: str | None,
    sample: str | None,
    no_output: bool,
    writes: bool,
    settings: tuple[str, ...],
    as_json: bool,
    pids: tuple[int, ...],
) -> None:
    """Record the running processes PID from now on, without a restart, until `clew detach PID` or until they exit.

    The processes must be prepared: started by `clew run` (also with --off, which records nothing at first), started in
    the environment that --env prints, or by a call of `clew.control()`. Children that they start from now on are also
    recorded. With --spec, the recording of a process that is already recorded switches to that spec.

    \b
    Examples:
      clew attach --list
      clew attach 4711
      clew attach 4711 --spec hot.esl --name slow-hour
      clew detach 4711
      eval "$(clew attach --env)"; python server.py &
    """
    if listing:
        _list(as_json)
        return
    if as_environment:
        _print_environment(as_json)
        return
    if not pids:
        raise click.UsageError("no PID given; run `clew attach --list` to see the processes that can be attached to")
    if off:
        detach_from(pids, as_json=as_json)
        return
    entries = [_entry(pid) for pid in dict.fromkeys(pids)]
    recorded = [entry for entry in entries if entry.run]
    options: dict[str, Any] = {"budget": budget, "quota": quota, "keep": keep, "sample": sample, "settings": settings}
    options["outputs"], options["writes"] = not no_output, writes
    if recorded:
        if spec is None or len(recorded) < len(entries):
            pid, run = recorded[0].pid, Path(recorded[0].run).name
            raise client.AskError(
                f"process {pid} is already recorded into run {run}; run `clew detach {pid}` to end that, "
                "or use --spec to change it"
            )
        ignored = [
            f"--{option} {value}"
            for option, value in (*options.items(), ("name", name))
            if value and option not in {"settings", "outputs", "writes"}
        ]
        if no_output:
            ignored.append("--no-output")
        if writes:
            ignored.append("--writes")
        if ignored:
            say(
                f"{', '.join(ignored)}: ignored: these options cannot change while a recording is active "
                "(run `clew detach` first)"
            )
        answers = []
        for entry in recorded:
            answers.append(_change(entry, _plan(context, spec, _source(entry, workspace), **options)))
    else:
        folder = the_workspace(workspace)
        plan = _plan(context, spec, _source(entries[0], workspace), **options)
        answers = _start(entries, folder, plan, name, spec)
    if as_json:
        print_json({"processes": answers})


def _plan(context: click.Context, spec: Path | None, source: Path, **options: Any) -> Plan:
    plan = chosen_plan(context.command_path, spec, source, **options)
    if plan is None:
        context.exit(2)
    if options["sample"] is not None and samples_nothing(plan):
        say(SAMPLES_NOTHING)
    return plan


def _entry(pid: int) -> Entry:
    try:
        return client.entry_of(pid)[1]
    except client.AskError:
        if not hasattr(sys, "remote_exec") or not registry.began(pid):
            raise
        return Entry(pid, registry.began(pid), 0, "", ["python"])


def _recorded_entry(pid: int) -> Entry:
    """Return the entry of a process to detach from. Raises `AskError`; for a finished recording the error names the
    run."""
    try:
        return _entry(pid)
    except client.AskError:
        if registry.began(pid):
            raise
        for folder, _ in list_runs(the_workspace(None)):
            if any(folder.glob(f"{pid}-*.clew*")):
                raise client.AskError(
                    f"process {pid} has exited and its recording is complete: run {folder.name}"
                ) from None
        raise


def _ask(entry: Entry, request: dict[str, Any]) -> dict[str, Any]:
    return client.ask(entry.pid, request) if entry.signal else client.ask_by_interpreter(entry.pid, request)


def _source(entry: Entry, workspace: Path | None) -> Path:
    """Return the folder of the program's own source."""
    if workspace is not None:
        return workspace.resolve()
    try:
        return workspace_of(Path(f"/proc/{entry.pid}/cwd").resolve(strict=True))
    except OSError:
        return workspace_of(Path.cwd())


def _start(
    entries: list[Entry], workspace: Path, plan: Plan, name: str | None, spec: Path | None
) -> list[dict[str, Any]]:
    command = entries[0].argv or ["python"]
    folder, info = create_run(
        workspace,
        name=name or program_name(tuple(command)),
        command=Redaction(plan.redact).arguments(command),
        spec=str(spec.resolve()) if spec else "",
        plan=dump(plan),
        attached_to=entries[0].pid,
    )
    answers = []
    try:
        for entry in entries:
            answers.append({"pid": entry.pid, **_ask(entry, {"do": "start", "run": str(folder)})})
            say(f"recording process {entry.pid}: run {info.id}, {_functions(answers[-1])}")
    except client.AskError:
        if not answers:
            remove_run(folder)
        raise
    start_collector(folder)  # this waits until no process is recorded any more
    say(f"run `clew detach {' '.join(str(entry.pid) for entry in entries)}` to stop")
    return [{**answer, "run": info.id, "folder": str(folder)} for answer in answers]


def _change(entry: Entry, plan: Plan) -> dict[str, Any]:
    run = Path(entry.run)
    before = load_plan_text(run)
    save_plan(run, dump(plan))
    try:
        answer = _ask(entry, {"do": "change"})
    except client.AskError:
        save_plan(run, before)
        raise
    say(f"plan of process {entry.pid} changed: run {run.name}, {_functions(answer)}")
    return {"pid": entry.pid, **answer, "run": run.name, "folder": str(run)}


def _functions(answer: dict[str, Any]) -> str:
    from clew.server.text import units

    text = f"{units.count(answer['functions'], 'function')} in {answer['seconds'] * 1000:.0f} ms"
    if answer["under_way"]:
        text += f", {len(answer['under_way'])} of them running"
    return text


def detach_from(pids: tuple[int, ...], *, as_json: bool) -> None:
    """End the recording of processes and print a summary."""
    from clew.cli.recording.summary import as_document, report_lines, summary
    from clew.records.run import source_snapshots
    from clew.records.run.budget_notes import only_counted
    from clew.records.run.directory import load_run, save_run

    folders: dict[Path, list[int]] = {}
    for pid in dict.fromkeys(pids):
        answer = _ask(_recorded_entry(pid), {"do": "stop"})
        folders.setdefault(Path(answer["run"]), []).append(pid)
    documents = []
    for folder, ended in folders.items():
        found, info = summary(folder), load_run(folder)
        if found.onlyCounted and info.finished is not None:
            # The process itself must not do this: it would load the trace reader.
            save_run(folder, info._replace(notes=[*info.notes, only_counted(found.countedCalls)]))
        source_snapshots.keep(folder)
        documents.append({"run": folder.name, "folder": str(folder), "pids": ended, **as_document(found)})
        if not as_json:
            say(f"{shlex.join(map(str, ended))}: recording ended")
            for line in report_lines(found, info):
                say(line)
    if as_json:
        print_json({"runs": documents})


def _print_environment(as_json: bool) -> None:
    added = {name: value for name, value in environment(None).items() if os.environ.get(name) != value}
    if as_json:
        print_json(added)
    else:
        click.echo("".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(added.items())), nl=False)


def _list(as_json: bool) -> None:
    entries = [entry for _, entry in registry.entries()]
    if as_json:
        print_json({"processes": [entry._asdict() for entry in entries]})
        return
    if not entries:
        click.echo("no process can be attached to; see `clew attach --help` on preparing one", err=True)
        return
    shown = table("pid", "python", "recorded", "command", right=("pid",))
    for entry in entries:
        shown.add_row(str(entry.pid), entry.python, Path(entry.run).name if entry.run else "no", shlex.join(entry.argv))
    show(shown)
