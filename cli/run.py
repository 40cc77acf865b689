"""`clew run`: records a program and gets out of its way: its output, signals and exit code are as without clew.

Invariant: nothing starts before spec and run folder are in order; stdout is the program's alone.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from clew.cli.common import the_workspace, workspace_option
from clew.cli.launching import launch
from clew.cli.packing import wait_until_packed
from clew.instrument.launch import environment
from clew.records.alive import died
from clew.records.collector import Attendant
from clew.records.default import default_plan
from clew.records.errors import ClewError
from clew.records.event import Kind
from clew.records.plan import Plan, dump
from clew.records.run import REFUSED, RunInfo, create_run, disk_bytes, finish_run, trace_files

if TYPE_CHECKING:
    from clew.records.reader import ProcessRecords

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""Exit codes of a command that could not be started, as shells have them."""
COUNTED_BYTES = 256 << 20
"""How much of a run is read for the closing words; the rest is there to be looked at, not to be waited for."""
SHOWN_NOTES = 5
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


class CommandError(ClewError):
    """The program cannot be started."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@click.command(context_settings={"allow_interspersed_args": False}, short_help="Record a program.")
@click.option("--spec", type=click.Path(path_type=Path), help="What to record, a file in ESL. Default: see above.")
@click.option("--name", help="The run's name, for `clew diff before after`. Default: the program's.")
@workspace_option
@click.option(
    "--budget", help="Share of run time that recording may cost: 3%, or `none`. Default: the spec's, else 3%."
)
@click.option("--quota", help="Bytes that a process may keep on disk: 512MB, 2GB. Default: the spec's, else 2GB.")
@click.option(
    "--keep",
    type=click.Choice(["oldest", "newest"]),
    help="What stays at the quota: the oldest, and recording stops, or the newest. Default: the spec's, else oldest.",
)
@click.option(
    "--sample", help="Share of request flows to record, each whole or not at all: 10%. Default: the spec's, else all."
)
@click.option("--off", is_flag=True, help="Record nothing yet: only make the program ready for `clew attach`.")
@click.option("--quiet", "-q", is_flag=True, help="Say only what went wrong.")
@click.option("--json", "as_json", is_flag=True, help="End with one JSON document on stderr; stdout is the program's.")
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def run(  # noqa: PLR0917 - click passes them by name
    context: click.Context,
    spec: Path | None,
    name: str | None,
    workspace: Path | None,
    budget: str | None,
    quota: str | None,
    keep: str | None,
    sample: str | None,
    off: bool,
    quiet: bool,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """Record COMMAND, a Python program, with every Python process that it starts.

    Its output, signals and exit code are as without clew. Without a spec, the functions of the project itself are
    recorded (not those of installed packages), the causality of the standard library, and log lines.

    \b
    Examples:
      clew run -- python app.py --port 80
      clew run --spec app.esl --name before -- python -m app
      clew run --budget none -- pytest tests/test_app.py
      clew run --quota 200MB --keep newest -- python server.py
      clew run --json -- python app.py 2>run.json
      clew run --spec app.esl --sample 10% -- python server.py
      clew run --off -- python server.py
    """
    told_later = (lambda _text: None) if quiet or as_json else say
    folder = the_workspace(workspace)
    plan = chosen_plan(spec, folder, context, budget=budget, quota=quota, keep=keep, sample=sample)
    program = _program(command)
    if off:
        told_later(f"{shlex.join(command)} is ready for `clew attach`; nothing is recorded yet")
        try:
            context.exit(launch([program, *command[1:]], environment(None)))
        except OSError as error:
            raise CommandError(f"{program}: cannot be started ({error.strerror})", NOT_EXECUTABLE) from None
    name = name or program_name(command)
    run_folder, info = create_run(
        folder, name=name, command=list(command), spec=str(spec.resolve()) if spec else "", plan=dump(plan)
    )
    told_later(f"recording {shlex.join(command)} ({plan.spec if spec is None else spec}; {_limits(plan)})")
    attendant = Attendant(run_folder, at_once=plan.keep == "newest")
    try:
        code = launch([program, *command[1:]], environment(run_folder), attendant.look)
    except OSError as error:
        shutil.rmtree(run_folder, ignore_errors=True)
        raise CommandError(f"{program}: cannot be started ({error.strerror})", NOT_EXECUTABLE) from None
    if not wait_until_packed(attendant, quiet=quiet or as_json):
        say("the rest is packed meanwhile; the run can be read already")
    _conclude(run_folder, info, code, quiet=quiet, as_json=as_json)
    context.exit(code)


def chosen_plan(
    spec: Path | None,
    workspace: Path,
    context: click.Context,
    *,
    budget: str | None,
    quota: str | None,
    keep: str | None = None,
    sample: str | None = None,
) -> Plan:
    """What the options of a command ask for. Raises `UsageError`."""
    try:
        plan = default_plan(workspace) if spec is None else _compiled(spec, workspace, context)
        if budget is not None:
            plan = plan._replace(budget=parse_share(budget))
        if quota is not None:
            plan = plan._replace(quota=parse_size(quota))
        if sample is not None:
            plan = plan._replace(sample=parse_share(sample, "--sample", "of the request flows"))
        if keep is not None:
            plan = plan._replace(keep="newest" if keep == "newest" else "oldest")
    except ValueError as error:
        raise click.UsageError(str(error), context) from None
    return plan


def _compiled(spec: Path, workspace: Path, context: click.Context) -> Plan:
    from clew.esl import check, render_all

    # The source lies where the program runs, which need not be where its runs are kept.
    here = Path.cwd()
    checked = check(spec, workspace if here.is_relative_to(workspace) else here)
    if checked.problems:
        _write(render_all(checked.problems, checked.path, checked.text) + "\n")
    if checked.plan is None:
        context.exit(2)
    return checked.plan


def parse_share(text: str, option: str = "--budget", of: str = "of run time") -> float | None:
    """`3%` or `0.03` as 0.03, `none` as None. Raises `ValueError`."""
    if text.strip().lower() == "none":
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < share <= 1:
        raise ValueError(f"{option} {text}: this is no share {of}; write 3%, or `none` for no bound")
    return share


def parse_size(text: str) -> int:
    """`512MB` in bytes. Raises `ValueError`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMG]?)B?", text.upper().replace(" ", ""))
    size = int(float(found[1]) * _UNITS[found[2]]) if found else 0
    if size < _UNITS["M"]:
        raise ValueError(f"--quota {text}: a process needs at least 1MB; write 512MB or 2GB")
    return size


def program_name(command: tuple[str, ...]) -> str:
    """`app` for `python app.py`, `pkg.tool` for `python -m pkg.tool`, else the command's own name."""
    if re.match(r"python[\d.]*$|pypy", Path(command[0]).name):
        words = iter(command[1:])
        for word in words:
            if word == "-m":
                return next(words, "python")
            if word in ("-X", "-W"):
                next(words, None)
            elif word == "-c":
                break
            elif not word.startswith("-"):
                return Path(word).stem
    return Path(command[0]).stem


def _program(command: tuple[str, ...]) -> str:
    """The file to run. Raises `CommandError`."""
    found = shutil.which(command[0])
    if found:
        return command[0]
    hint = f"; did you mean `clew run -- python {shlex.join(command)}`?" if command[0].endswith(".py") else ""
    if Path(command[0]).exists():
        raise CommandError(f"{command[0]}: this is no program that can be run{hint}", NOT_EXECUTABLE)
    raise CommandError(f"{command[0]}: command not found{hint}", NOT_FOUND)


def _conclude(run_folder: Path, info: RunInfo, code: int, *, quiet: bool, as_json: bool) -> None:
    """Ends the run's description and says what there is. The program has run: nothing here may change its exit code."""
    missing = _why_nothing(run_folder, info)
    try:
        finish_run(run_folder, info, code, [missing] if missing else [])
    except OSError as error:
        say(f"{run_folder}: the run's end cannot be noted there ({error.strerror}); it will look as if it still ran")
    try:
        if as_json:
            found = summary(run_folder)
            document = {"run": info.id, "folder": str(run_folder), "exitCode": code, **dataclasses.asdict(found)}
            document["notes"] = [missing] if missing else found.notes
            _write(json.dumps(document, ensure_ascii=False) + "\n")
        elif missing:
            say(missing)
        elif not quiet:
            for line in told(summary(run_folder), info):
                say(line)
    except Exception as error:
        say(f"run {info.id} is recorded, but cannot be summed up ({type(error).__name__}: {error})")


def _why_nothing(run_folder: Path, info: RunInfo) -> str:
    if trace_files(run_folder):
        return ""
    if any(run_folder.glob("untraced-*")):
        return f"no Python process was recorded: clew is not installed for the Python that {info.command[0]} runs"
    if any(run_folder.glob(REFUSED + "*")):
        return "no Python process was recorded: no trace file could be made, as said above for each"
    return f"no Python process was recorded: {info.command[0]} is no Python program, or runs Python with -S, -E or -I"


@dataclasses.dataclass(frozen=True)
class Summary:
    """What a run recorded; the fields of `clew run --json`."""

    functions: int
    events: int
    eventsAreAll: bool
    logLines: int
    processes: int
    bytes: int
    onlyCounted: int
    """Functions that ran too often for the budget."""
    countedFunctions: list[str]
    """Their names."""
    killed: list[int]
    """Pids of processes that died while they were recorded."""
    notes: list[str]
    worst: str
    """The text of the gravest log line."""


def summary(run_folder: Path) -> Summary:
    """Reads a finished run's trace files."""
    from clew.records.reader import read_run

    processes = read_run(run_folder).processes
    counted = _Counted()
    for process in processes:
        counted.add(process)
    notes = [note.text for process in processes for note in process.notes]
    notes += [problem.what for process in processes for problem in process.problems]
    return Summary(
        functions=len(counted.functions),
        events=counted.events,
        eventsAreAll=counted.whole,
        logLines=counted.lines,
        processes=len(processes),
        bytes=disk_bytes(run_folder),
        onlyCounted=len(counted.degraded),
        countedFunctions=sorted(f"{module}:{qualname}" for module, qualname in counted.degraded),
        killed=sorted(died(run_folder)),
        notes=list(dict.fromkeys(notes)),
        worst=counted.worst,
    )


def told(found: Summary, info: RunInfo) -> list[str]:
    """What was recorded, what is missing, and what to do next, a line each."""
    from clew.server import wording

    events = wording.count(found.events, "event")
    parts = [
        wording.count(found.functions, "function"),
        events if found.eventsAreAll else f"more than {events}",
        wording.count(found.logLines, "log line"),
        wording.count(found.processes, "process"),
        wording.size(found.bytes),
    ]
    lines = [f"run {info.id}: {', '.join(parts)}"]
    if found.onlyCounted:
        shown = ", ".join(found.countedFunctions[:SHOWN_NOTES])
        more = ", …" if found.onlyCounted > SHOWN_NOTES else ""
        were = "was" if found.onlyCounted == 1 else "were"
        functions = wording.count(found.onlyCounted, "function")
        lines.append(f"{functions} ran too often for the budget and {were} only counted from then on: {shown}{more}")
    lines += [f"process {pid} was killed while it was recorded; everything before is there" for pid in found.killed]
    lines += [f"note: {text}" for text in found.notes[:SHOWN_NOTES]]
    if len(found.notes) > SHOWN_NOTES:
        lines.append(f"and {wording.count(len(found.notes) - SHOWN_NOTES, 'more note')} in the run")
    if found.functions or found.logLines:
        following = f"clew why {_quoted(found.worst)}" if found.worst.strip() else "clew aggregate"
        lines.append(f"next: `{following}` or `clew view`")
    else:
        lines.append(_what_to_check(info))
    return lines


def _what_to_check(info: RunInfo) -> str:
    """For a run in which none of the chosen functions was called."""
    if not info.spec:
        return (
            f"no function below {info.workspace} was called, only those of a project's own files are recorded; check that "
            "the program's source is there, or name its folder with --workspace"
        )
    spec = _shown(Path(info.spec))
    return f"no function that {spec} names was called; `clew check {spec}` lists what its rules match"


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


class _Counted:
    """Sums over the processes of a run."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.degraded: set[tuple[str, str]] = set()
        self.events = self.lines = self.bytes = 0
        self.whole = True
        self.worst = ""
        """The text of the gravest log line, the last of them."""
        self._level = 0

    def add(self, process: ProcessRecords) -> None:
        import numpy as np

        from clew.graph.decode import decode

        names = {site.id: (site.module, site.qualname) for site in process.sites.values()}
        self.degraded.update(names[site] for site in process.counters if site in names)
        for thread in process.threads.values():
            size = sum(len(extent) for extent in thread.extents)
            if self.bytes + size > COUNTED_BYTES:
                self.whole = False
                continue
            self.bytes += size
            columns = decode(thread.extents)
            self.events += len(columns)
            entered = np.unique(columns.site[columns.kind == Kind.ENTER]).tolist()
            self.functions.update(names[site] for site in entered if site in names)
            logs = np.flatnonzero(columns.kind == Kind.LOG)
            self.lines += len(logs)
            if len(logs):
                levels = columns.key[columns.ext[logs]]
                if int(levels.max()) >= self._level:
                    self._level = int(levels.max())
                    self.worst = columns.text(int(logs[np.flatnonzero(levels == levels.max())[-1]]))


def _quoted(text: str) -> str:
    return shlex.quote(text.strip().splitlines()[0][:60])


def _limits(plan: Plan) -> str:
    from clew.server import wording

    budget = "no budget" if plan.budget is None else f"budget {wording.percent(plan.budget)}"
    kept = ", the newest" if plan.keep == "newest" else ""
    return f"{budget}, at most {wording.size(plan.quota)} a process{kept}"


def say(text: str) -> None:
    _write(f"clew: {text}\n")


def _write(text: str) -> None:
    # Perhaps nobody reads stderr; the program's exit code is the answer all the same.
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(text)
            sys.stderr.flush()
