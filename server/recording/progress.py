"""Progress of a recording: fast facts from the clock and the disk, and statistics from a snapshot of the live run.

Invariant: progress requests never keep the machine busy. The graph of a live run is rebuilt only after ten times the
duration of the last build (`session.PAUSES`).
"""

from __future__ import annotations

import time
from pathlib import Path

from clew.graph.model.event import ERROR, WARNING
from clew.graph.ops.find_events import find_logs
from clew.records.run.directory import RunInfo, disk_bytes, list_runs, trace_files
from clew.server.protocol.recording import ProgressParams, ProgressResult
from clew.server.session.session import Session, Task, run_ref


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
    """Return the newest run that a process started; without one the newest live run."""
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
