"""Who waits for whom in a run or in a process, for `clew hang` and for reports of failed tests.

A process that is recorded is answered from its records, another one from its stacks if it was made ready for `clew attach`.
If it does not answer, its threads are told as the system sees them.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from clew.graph.ops.answer.hang import BRIEF_NS, Blocked, Hang, hang, pids_of_test, until
from clew.graph.ops.answer.hang_stacks import hang_of_stacks
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.unfollowed import limits, unfollowed
from clew.records.attach import client, registry
from clew.records.format.facts import Frame
from clew.records.run.directory import RunInfo, list_runs, load_run, workspace_of
from clew.server.protocol.shared import RunRef
from clew.server.session.session import Session, Task, run_ref
from clew.server.text import units

ANSWERS_WITHIN = 1.0
"""Seconds that a process has to tell its stacks."""


@dataclass(frozen=True)
class HangWait:
    """A thread or task that waits."""

    who: str
    pid: int
    what: str
    mechanism: str
    where: str
    waitedNs: int
    """-1 when unknown."""
    limitSeconds: float | None
    state: Literal["blocked", "waiting", "idle", "brief"]
    holders: list[str]
    """The holders, or those whose end is awaited, in words."""
    inferred: bool
    """Whether only frames suggest a holder."""
    frames: list[Frame]
    events: list[int]


@dataclass(frozen=True)
class HangClaim:
    text: str
    events: list[int]


@dataclass(frozen=True)
class SystemThread:
    """A thread as the system sees it."""

    tid: int
    name: str
    state: str
    waitsIn: str
    """The kernel's function in which it waits, "" when unknown."""
    stack: list[str]


@dataclass(frozen=True)
class HangAnswer:
    title: str
    source: Literal["records", "stacks", "system"]
    summary: str
    """The answer in one sentence if there is no verdict."""
    verdict: list[HangClaim]
    certainty: Literal["recorded", "inferred", "unknown"]
    basis: str
    circles: list[list[str]]
    waits: list[HangWait]
    limits: list[str] = field(default_factory=list)
    """What is not known, as sentences."""
    threads: list[SystemThread] = field(default_factory=list)
    run: RunRef | None = None

    @property
    def text(self) -> str:
        return " ".join(claim.text for claim in self.verdict)


def answer(session: Session, which: str, task: Task, test: str = "") -> HangAnswer:
    """Answer for a PID, or for a run by id, name or folder; "" is the newest run. `test` limits it to a test's processes.

    Raises `ClewError` for an unknown run, and `AskError` for a process that is neither recorded nor ready.
    """
    if which.isdecimal() and not test and not _is_run(session, which):
        return _of_pid(session, int(which), task)
    return of_run(session, which, task, test=test)


def of_run(session: Session, which: str, task: Task, pid: int = 0, test: str = "") -> HangAnswer:
    """Answer from the records of a run: of all its processes, of one, or of those of a test, given by its id."""
    run = session.snapshot(which, task, refresh=True)
    ref = session.ref(run)
    live = not run_ref(run.folder, run.info).finished
    end = time.time_ns() if live else run.info.finished or 0
    now = max(end - run.info.started, 0)
    pids = (pid,) if pid else pids_of_test(run.graph, test) if test else ()
    brief_ns = BRIEF_NS if live and not test else 0
    found = hang(run.graph, until(run.graph, now, live=live), brief_ns=brief_ns, pids=pids)
    title = f"run {load_run(run.folder).name} ({units.when(run.info.started)})"
    title += f", process {pid}" if pid else f", {test}" if test else ""
    title += f": now, {units.duration(float(now))} after its start" if live else ": at its end"
    made = _answer(found, title, "records")
    waited = bool(Facts.of(run.graph).waits)
    passed = [time.row for time in unfollowed(run.graph) if time.until_ns is None or not waited]
    known = list(limits(run.graph, passed))
    if not waited and not known:
        known = ["The run has no record of a wait: it was recorded by an older clew, or nothing ever waited."]
    return replace(made, limits=known, run=ref)


def _of_pid(session: Session, pid: int, task: Task) -> HangAnswer:
    folder, live = _run_of(session, pid)
    if folder is None:
        return _of_stacks(_asked(pid))
    made = of_run(session, str(folder), task, 0 if folder in _launched(session, pid) else pid)
    if not live or any(wait.state == "blocked" for wait in made.waits) or made.verdict:
        return made
    try:
        now = _of_stacks(pid)
    except client.AskError:
        return made  # it is recorded, but not ready for questions
    if now.source == "system":
        return replace(made, limits=[*made.limits, *now.limits], threads=now.threads)
    if any(wait.state == "blocked" for wait in now.waits):
        limit = "The records tell of no wait that blocks; this answer is from the stacks of the process."
        return replace(now, limits=[limit, *now.limits], run=made.run)
    return made


def _asked(pid: int) -> int:
    """Return the process to ask: this one, or the only prepared one that it started, as `clew run --off` does.

    Raises `AskError` if there is none.
    """
    try:
        return client.entry_of(pid)[1].pid
    except client.NotPreparedError:
        if hasattr(sys, "remote_exec"):
            return pid
        started = [entry.pid for _, entry in registry.entries() if _parent(entry.pid) == pid]
        if len(started) == 1:
            return started[0]
        raise client.AskError(
            f"process {pid} is neither recorded nor ready to be asked; record it from its start with `clew run -- python …`, "
            f"or to ask without recording, {client.HOW_TO_PREPARE}"
        ) from None


def _parent(pid: int) -> int:
    fields = (line.split() for line in _lines(Path(f"/proc/{pid}/status")) if line.startswith("PPid:"))
    return int(next(fields, ["", "0"])[1])


def _run_of(session: Session, pid: int) -> tuple[Path | None, bool]:
    """Return the run that records a process or has recorded it, and whether the process is alive and recorded."""
    alive = registry.began(pid) != 0
    if alive:
        for folder in _launched(session, pid):
            return folder, True
        for _, entry in registry.entries():
            if entry.pid == pid:
                return (Path(entry.run), True) if entry.run else (None, False)
        return _mapped_run(pid), True
    for folder, info in list_runs(session.workspace):
        if isinstance(info, RunInfo) and any(folder.glob(f"{pid}-*.clew*")):
            return folder, False
    return None, False


def _launched(session: Session, pid: int) -> list[Path]:
    """Return the live run that a process launched: the PID of `clew run` stands for its whole run."""
    runs = [(folder, info) for folder, info in list_runs(session.workspace) if isinstance(info, RunInfo)]
    return [folder for folder, info in runs if info.launcher == pid and not run_ref(folder, info).finished][:1]


def _mapped_run(pid: int) -> Path | None:
    """Return the folder of the trace file that a process has mapped."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
    except OSError:
        return None
    for line in maps.splitlines():
        if line.endswith(".clew"):
            return Path(line.split(None, 5)[5]).parent
    return None


def _is_run(session: Session, which: str) -> bool:
    runs = list_runs(session.workspace)
    return any(isinstance(info, RunInfo) and which in (info.id, info.name) for _, info in runs)


# ---- Processes that are not recorded ----


def _of_stacks(pid: int) -> HangAnswer:
    title = f"process {pid}{_command(pid)}: now"
    ask = client.ask if any(entry.pid == pid for _, entry in registry.entries()) else client.ask_by_interpreter
    try:
        snapshot = ask(pid, {"do": "stacks"}, timeout=ANSWERS_WITHIN)
    except client.NoAnswerError:
        return _of_system(pid, title)
    made = _answer(hang_of_stacks(snapshot, pid, _root(pid)), title, "stacks")
    if snapshot["more"]:
        left = f"{snapshot['more']:,} more threads and tasks were left out."
        made = replace(made, limits=[*made.limits, left])
    return made


def _command(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return ""
    text = " ".join(filter(None, words))
    return f" ({text[:80]})" if text else ""


def _root(pid: int) -> str:
    try:
        return str(workspace_of(Path(f"/proc/{pid}/cwd").resolve(strict=True)))
    except OSError:
        return ""


def _of_system(pid: int, title: str) -> HangAnswer:
    threads = [
        _system_thread(path) for path in sorted(Path(f"/proc/{pid}/task").glob("*"), key=lambda path: int(path.name))
    ]
    main = next((thread for thread in threads if thread.tid == pid), None)
    where = f" (the system says: {main.state}{f' in {main.waitsIn}' if main.waitsIn else ''})" if main else ""
    summary = (
        f"The main thread did not return to Python within {ANSWERS_WITHIN:g} s{where}: it is in a call outside of Python, or "
        "blocks signals."
    )
    limit = "Who waits for whom in Python is not known; record the process from its start with `clew run`."
    return HangAnswer(title, "system", summary, [], "unknown", "", [], [], [limit], threads)


def _system_thread(folder: Path) -> SystemThread:
    state = next((line[6:].strip() for line in _lines(folder / "status") if line.startswith("State:")), "")
    waits_in = "".join(_lines(folder / "wchan"))
    return SystemThread(
        int(folder.name),
        "".join(_lines(folder / "comm")),
        state,
        "" if waits_in == "0" else waits_in,
        _lines(folder / "stack"),
    )


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(errors="replace").splitlines()
    except OSError:
        return []


# ---- Words ----


def _answer(found: Hang, title: str, source: Literal["records", "stacks"]) -> HangAnswer:
    return HangAnswer(
        title,
        source,
        _summary(found, source),
        [HangClaim(claim.text, list(claim.events)) for claim in found.verdict],
        found.certainty,
        found.basis,
        [list(circle) for circle in found.circles],
        [_wait(wait) for wait in found.waits],
    )


def _wait(wait: Blocked) -> HangWait:
    return HangWait(
        wait.who, wait.process, wait.what, wait.mechanism, wait.where, wait.waited_ns, wait.limit, wait.state,
        [holding.text or f"{holding.who} has not ended" for holding in wait.holders],
        any(holding.inferred for holding in wait.holders), list(wait.frames), list(wait.events),
    )  # fmt: skip


def _summary(found: Hang, source: str) -> str:
    many = Counter(wait.state for wait in found.waits)
    if found.circles:
        names = [
            f"{', '.join(circle[:-1])} and {circle[-1]} wait for each other"
            for circle in found.circles[:1]
            if circle[1:]
        ]
        return f"{names[0] if names else f'{found.circles[0][0]} waits for itself'}; no diagnosis covers it."
    if blocked := many["blocked"]:
        waits = "thread or task waits" if blocked == 1 else "threads and tasks wait"
        return f"No cause was found, but {blocked:,} {waits} for what others have to give back or to end."
    recorded = "recorded " if source == "records" else ""
    parts = [f"{many['idle']:,} wait for work, for time, or for others that run"] if many["idle"] else []
    parts += [f"{many['waiting']:,} wait for a wake-up, which is normal in a server"] if many["waiting"] else []
    return f"Nothing {recorded}is known to hang{': ' if parts else ''}{'; '.join(parts)}."
