"""How far a recording is: what the clock and the disk say at once, and what the growing run tells when it is looked at.

Invariant: a program that runs for long does not keep the machine busy with being looked at: the graph of its run is built
anew only after ten times what building it took (`session.PAUSES`).
"""

from __future__ import annotations

import time
from pathlib import Path

from clew.graph.ops.find import find_logs
from clew.records.run import RunInfo, disk_bytes, list_runs, trace_files
from clew.server.protocol import ProgressParams, ProgressResult
from clew.server.session import Session, Task, run_ref

WARNING, ERROR = 30, 40


def progress(session: Session, params: ProgressParams, task: Task) -> ProgressResult:
    found = _recording(session, params.launcher)
    if found is None:
        return ProgressResult(None)
    folder, info = found
    result = ProgressResult(
        run_ref(folder, info),
        elapsedNs=(info.finished or time.time_ns()) - info.started,
        bytes=disk_bytes(folder),
        processes=len(trace_files(folder)),
    )
    return _looked(session, folder, result, task) if params.look and result.processes else result


def _recording(session: Session, launcher: int) -> tuple[Path, RunInfo] | None:
    """The newest run that a process began; without one the newest that goes on."""
    for folder, info in list_runs(session.workspace):
        if not isinstance(info, RunInfo):
            continue
        if info.launcher == launcher if launcher else not run_ref(folder, info).finished:
            return folder, info
    return None


def _looked(session: Session, folder: Path, result: ProgressResult, task: Task) -> ProgressResult:
    table = session.functions(str(folder), task)
    graph = table.graph
    errors = len(find_logs(graph, level=ERROR))
    slowest = max(table.by_site.values(), key=lambda function: function.self_ns, default=None)
    return ProgressResult(
        result.run,
        result.elapsedNs,
        result.bytes,
        result.processes,
        looked=True,
        events=len(graph),
        errors=errors,
        warnings=len(find_logs(graph, level=WARNING)) - errors,
        slowest=slowest.label if slowest else "",
        slowestNs=slowest.self_ns if slowest else 0,
    )
