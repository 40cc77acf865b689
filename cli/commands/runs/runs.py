"""`clew runs`: list the runs of a workspace, newest first, or the processes, clocks and gaps of one run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli.output.options import (
    json_option,
    open_session,
    print_json,
    print_problems,
    show,
    table,
    workspace_option,
)
from clew.records.run.directory import RunInfo, disk_bytes, list_runs, the_workspace, trace_files
from clew.server.protocol.codec import encode
from clew.server.session.session import run_ref
from clew.server.text import units

if TYPE_CHECKING:
    from clew.query.api import Run

PROCESSES = 40
"""Maximum processes listed for one run."""
GAPS = 20


@click.command()
@click.argument("run", required=False)
@workspace_option
@json_option
def runs(run: str | None, workspace: Path | None, as_json: bool) -> None:
    """List the recorded runs, newest first, or describe one run.

    RUN is an id, a name, a folder, or a foreign trace. For one run, the command lists the processes, the machines with
    their clock corrections and uncertainties (from the messages between them), and the gaps in the recording with their
    reasons.

    \b
    Examples:
      clew runs
      clew runs after
      clew runs --json | jq -r '.runs[0].id'
      clew runs after --json | jq '.machines, .gaps'
    """
    if run is not None:
        _details(run, workspace, as_json=as_json)
        return
    folder = the_workspace(workspace)
    rows = [_row(run, info) for run, info in list_runs(folder)]
    if as_json:
        print_json({"workspace": str(folder), "runs": rows})
        return
    if not rows:
        click.echo(f"no run in {folder / '.clew'} yet; record one with `clew run -- python your_program.py`", err=True)
        return
    shown = table("id", "name", "when", "exit", "processes", "size", "problems", right=("exit", "processes", "size"))
    for row in rows:
        shown.add_row(
            row["id"],
            row["name"],
            units.when(row["started"] * 1_000_000) if row["started"] else "",
            "…"
            if not row["finished"]
            else ""
            if row["imported"]
            else "?"
            if row["exitCode"] is None
            else str(row["exitCode"]),
            "" if row["imported"] else str(row["processes"]),
            units.size(row["bytes"]),
            "; ".join(row["problems"]),
        )
    show(shown)


def _row(folder: Path, info: RunInfo | Exception) -> dict[str, Any]:
    return {
        **encode(run_ref(folder, info)),
        "folder": str(folder),
        "imported": isinstance(info, RunInfo) and info.imported > 0,
        "processes": len(trace_files(folder)),
        "bytes": disk_bytes(folder),
    }


def _details(which: str, workspace: Path | None, *, as_json: bool) -> None:
    from clew.server.text.gaps import machine_ref, missing

    session = open_session(workspace)
    run = session.open(which)
    graph = run.graph
    gone = missing(graph, list(run.gaps))
    if as_json:
        print_json(
            {
                **_row(run.folder, run.info),
                "events": len(graph),
                "edges": len(graph.edge_src),
                "machines": [machine_ref(machine) for machine in graph.machines],
                "processesOf": [_process(run, index) for index in range(len(graph.processes))],
                "gaps": gone.shown,
                "hiddenGaps": gone.hidden,
                "notes": [problem._asdict() for problem in run.problems],
            }
        )
        return
    ref = session.ref(run)
    ended = "" if ref.exitCode is None else f", exit {ref.exitCode}"
    click.echo(f"run {ref.name} ({ref.id}), {units.when(run.info.started)}{ended}")
    if ref.command:
        click.echo(ref.command)
    click.echo(
        f"{units.count(len(graph), 'event')}, {units.count(len(graph.edge_src), 'edge')}, "
        f"{units.count(len(graph.strands), 'strand')} in {units.count(len(graph.processes), 'process')} on "
        f"{units.count(len(graph.machines) or 1, 'machine')}, {units.size(disk_bytes(run.folder))}"
    )
    click.echo()
    shown = table(
        "process", "pid", "machine", "began", "lasted", "strands", "ended", right=("pid", "began", "lasted", "strands")
    )
    for index in range(min(len(graph.processes), PROCESSES)):
        it = _process(run, index)
        shown.add_row(
            it["name"], str(it["pid"]), it["machine"], units.offset(it["beganNs"]), units.duration(it["lastedNs"]),
            str(it["strands"]), it["ended"],
        )  # fmt: skip
    show(shown)
    if len(graph.processes) > PROCESSES:
        click.echo(f"and {len(graph.processes) - PROCESSES} more; use --json to see all")
    if len(graph.machines) > 1:
        click.echo()
        clocks = table("machine", "clock correction")
        for machine in graph.machines:
            clocks.add_row(machine.name, machine.clock)
        show(clocks)
    if gone.shown:
        click.echo()
        listed = table("from", "to", "lost", "process", "thread or task", "reason", right=("from", "to", "lost"))
        for gap in gone.shown[:GAPS]:
            whose = f"calls of {units.short_label(gap.function)}: " if gap.function else ""
            listed.add_row(
                units.offset(gap.fromNs), units.offset(gap.toNs), "?" if gap.lost is None else f"{gap.lost:,}",
                gap.process, gap.strand, whose + gap.why,
            )  # fmt: skip
        show(listed)
        more = len(gone.shown) - len(gone.shown[:GAPS]) + gone.hidden
        if more:
            click.echo(
                f"and {units.count(more, 'more gap')}; run `clew sql {run.info.name} 'select * from gaps'` to see all"
            )
    print_problems(run)


def _process(run: Run, index: int) -> dict[str, Any]:
    process = run.graph.processes[index]
    return {
        "name": process.name,
        "pid": process.pid,
        "machine": process.host,
        "beganNs": process.first_ns,
        "lastedNs": process.last_ns - process.first_ns,
        "strands": sum(strand.process == index for strand in run.graph.strands),
        "ended": "died" if process.died else process.end,
        "dropped": process.dropped,
    }
