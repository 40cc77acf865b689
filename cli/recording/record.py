"""Record a program for `clew run`: create the run's folder, run the program in the foreground, compress the trace and
print a summary.

Invariants: the program starts only after the spec and the run folder are valid. stdout belongs to the program alone.
Modules loaded before the program starts delay it, and any module delays its user.
"""

from __future__ import annotations

import importlib
import json
import os
import shlex
from pathlib import Path

from clew.cli.output.compression_progress import wait_until_packed
from clew.cli.output.stderr import say, write
from clew.cli.recording.fast_arguments import Options
from clew.cli.recording.foreground import launch
from clew.cli.recording.plan_options import SAMPLES_NOTHING, chosen_plan
from clew.instrument.recorder.redaction import Redaction
from clew.instrument.run_environment import environment
from clew.records.collector.launch import Attendant
from clew.records.errors import ClewError
from clew.records.plan.plan import Plan, dump, samples_nothing
from clew.records.run.directory import REFUSED, RunInfo, create_run, finish_run, load_run, remove_run, trace_files

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""Exit codes of shells for a command that could not be started."""
SIGNALLED = 128
"""Base of the exit code of a command that a signal ended; the signal's number is added."""


class CommandError(ClewError):
    """The program cannot be started."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def record(options: Options) -> int:
    """Record a program and return its exit code. Raises `ClewError` when it cannot be started."""
    command, folder, spec, quiet, as_json = (
        options.command, options.workspace, options.spec, options.quiet, options.as_json
    )  # fmt: skip
    report_later = (lambda _text: None) if quiet or as_json else say
    plan = chosen_plan(
        "clew run", spec, folder,
        budget=options.budget, quota=options.quota, sample=options.sample, keep=options.keep, settings=options.settings,
        outputs=not options.no_output, writes=options.writes,
    )  # fmt: skip
    if plan is None:
        return 2
    program = _program(command)
    if options.off:
        report_later(f"{shlex.join(command)} is ready for `clew attach`; recording has not started")
        try:
            return launch([program, *command[1:]], environment(None))
        except OSError as error:
            raise CommandError(f"{program}: cannot be started ({error.strerror})", NOT_EXECUTABLE) from None
    name = options.name or program_name(command)
    run_folder, info = create_run(
        folder, name=name, command=Redaction(plan.redact).arguments(command),
        spec=str(spec.resolve()) if spec else "", plan=dump(plan),
    )  # fmt: skip
    made = os.stat(run_folder)
    report_later(f"recording {shlex.join(command)} ({plan.spec if spec is None else spec}; {_limits(plan)})")
    if options.sample is not None and samples_nothing(plan):
        report_later(SAMPLES_NOTHING)
    attendant = Attendant(run_folder, at_once=plan.keep == "newest")
    at_the_end = ["clew.records.collector.main", "clew.records.run.finish"] + ["clew.cli.recording.summary"] * (
        not quiet or as_json
    )

    def look() -> bool:
        # Load modules while the program starts, when this costs the user no time.
        while at_the_end:
            importlib.import_module(at_the_end.pop())
        return attendant.check()

    try:
        code = launch([program, *command[1:]], environment(run_folder), look)
    except OSError as error:
        remove_run(run_folder)
        raise CommandError(f"{program}: cannot be started ({error.strerror})", NOT_EXECUTABLE) from None
    if not wait_until_packed(attendant, quiet=quiet or as_json):
        say("compression continues in the background; the run is already readable")
    _conclude(run_folder, info, code, _why_lost(run_folder, info, made), quiet=quiet, as_json=as_json)
    return code


def program_name(command: tuple[str, ...]) -> str:
    """Return `app` for `python app.py`, `pkg.tool` for `python -m pkg.tool`, else the command's own name."""
    interpreter = Path(command[0]).name
    if interpreter.startswith("pypy") or (interpreter[:6] == "python" and not interpreter[6:].strip("0123456789.")):
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
    """Return the file to run. Raises `CommandError`."""
    folders = [""] if os.path.dirname(command[0]) else os.get_exec_path()
    paths = (os.path.join(folder, command[0]) for folder in folders)
    if any(os.access(path, os.X_OK) and not os.path.isdir(path) for path in paths):
        return command[0]
    import shutil  # shutil supports other systems, but loads three compressors

    if shutil.which(command[0]):
        return command[0]
    hint = f"; did you mean `clew run -- python {shlex.join(command)}`?" if command[0].endswith(".py") else ""
    if Path(command[0]).exists():
        raise CommandError(f"{command[0]}: not an executable program{hint}", NOT_EXECUTABLE)
    raise CommandError(f"{command[0]}: command not found{hint}", NOT_FOUND)


def _described(run_folder: Path, info: RunInfo) -> RunInfo:
    """Read the run's description again, because pytest adds the commit to it."""
    try:
        return load_run(run_folder)
    except ClewError:
        return info


def _why_lost(run_folder: Path, info: RunInfo, made: os.stat_result) -> str:
    """Return an error when the folder is not the one that was `made`; another process may own its replacement."""
    try:
        if os.path.samestat(made, os.stat(run_folder)):
            return ""
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError:
        return ""
    return f"run {info.id} is lost: its folder {run_folder} was moved or removed while it was recorded"


def _conclude(run_folder: Path, info: RunInfo, code: int, lost: str, *, quiet: bool, as_json: bool) -> None:
    """Complete the run's description and print a summary, or the reason why the run is `lost`. The program has already
    run: this function must not change its exit code."""
    missing = lost or _why_nothing(run_folder, info, code)
    try:
        from clew.records.run.finish import conclude  # needed only at the end

        if not lost:
            info = finish_run(
                run_folder, _described(run_folder, info), code, [missing] if missing else conclude(run_folder)
            )
    except OSError as error:
        say(f"{run_folder}: cannot write the end of the run ({error.strerror}); the run will appear live")
    if quiet and not as_json and not missing:
        return
    try:
        # Imported after the program has run, not before.
        from clew.cli.recording.summary import as_document, report_lines, summary

        if missing and not as_json:
            say(missing)
            return
        counted = summary(run_folder)
        if as_json:
            found = as_document(counted)
            document = {"run": info.id, "folder": str(run_folder), "exitCode": code, **found}
            if missing:
                document["notes"] = [missing]
            write(json.dumps(document, ensure_ascii=False) + "\n")
        else:
            for line in report_lines(counted, info):
                say(line)
    except Exception as error:
        say(f"run {info.id} is recorded, but cannot be summarized ({type(error).__name__}: {error})")


def _why_nothing(run_folder: Path, info: RunInfo, code: int) -> str:
    if trace_files(run_folder):
        return ""
    if any(run_folder.glob("untraced-*")):
        return f"no Python process was recorded: clew is not installed for the Python that {info.command[0]} runs"
    if any(run_folder.glob(REFUSED + "*")):
        return "no Python process was recorded: creating the trace file failed (see the errors above)"
    killed = "was ended by a signal first, " if code > SIGNALLED else ""
    return (
        f"no Python process was recorded: {info.command[0]} {killed}did not start a Python interpreter, "
        "or started it with -S, -E or -I"
    )


def _limits(plan: Plan) -> str:
    from clew.server.text import units

    budget = "no budget" if plan.budget is None else f"budget {units.percent(plan.budget)}"
    kept = ", the newest" if plan.keep == "newest" else ""
    return f"{budget}, at most {units.size(plan.quota)} a process{kept}"
