"""`clew run`: records a program and gets out of its way: its output, signals and exit code are as without clew.

Invariant: nothing starts before spec and run folder are in order; stdout is the program's alone.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import shlex
import sys
from pathlib import Path

import click

from clew.cli.common import the_workspace, workspace_option
from clew.cli.launching import launch
from clew.cli.packing import wait_until_packed
from clew.instrument.launch import environment
from clew.records.collector import Attendant
from clew.records.default import default_plan
from clew.records.errors import ClewError
from clew.records.plan import Plan, dump
from clew.records.run import REFUSED, RunInfo, create_run, finish_run, remove_run, save_run, trace_files

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""Exit codes of a command that could not be started, as shells have them."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


SAMPLES_NOTHING = (
    "no `request` rule says where a flow begins, so sampling leaves nothing out; docs/esl.md has an example"
)


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
    if samples_nothing(plan):
        told_later(SAMPLES_NOTHING)
    attendant = Attendant(run_folder, at_once=plan.keep == "newest")
    at_the_end = ["clew.records.collect"] + ([] if quiet and not as_json else ["clew.cli.summary"])

    def look() -> bool:
        # While the program starts, loading costs its user no time.
        while at_the_end:
            importlib.import_module(at_the_end.pop())
        return attendant.look()

    try:
        code = launch([program, *command[1:]], environment(run_folder), look)
    except OSError as error:
        remove_run(run_folder)
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
            plan = plan._replace(sample=parse_share(sample, "--sample"))
        if keep is not None:
            plan = plan._replace(keep="newest" if keep == "newest" else "oldest")
    except ValueError as error:
        raise click.UsageError(str(error), context) from None
    return plan


def samples_nothing(plan: Plan) -> bool:
    """Is a share of the request flows asked for, and nothing says where one begins?"""
    requests = any(action.kind == "request" for rule in plan.rules for action in rule.actions)
    return plan.sample is not None and plan.sample < 1 and not requests


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


SHARES = {
    "--budget": "a share of run time that is above 0 and at most 100 %; write 3%, or `none` for no bound",
    "--sample": "a share of the request flows that is above 0 and at most 100 %; write 10%, or `none` for all of them",
}


def parse_share(text: str, option: str = "--budget") -> float | None:
    """`3%` or `0.03` as 0.03, `none` as None. Raises `ValueError`."""
    if text.strip().lower() == "none":
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*(%?)\s*", text)
    share = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < share <= 1:
        raise ValueError(f"{option} {text}: this is not {SHARES[option]}")
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
    folders = [""] if os.path.dirname(command[0]) else os.get_exec_path()
    paths = (os.path.join(folder, command[0]) for folder in folders)
    if any(os.access(path, os.X_OK) and not os.path.isdir(path) for path in paths):
        return command[0]
    import shutil  # which knows how other systems find a program, and loads three compressors

    if shutil.which(command[0]):
        return command[0]
    hint = f"; did you mean `clew run -- python {shlex.join(command)}`?" if command[0].endswith(".py") else ""
    if Path(command[0]).exists():
        raise CommandError(f"{command[0]}: this is no program that can be run{hint}", NOT_EXECUTABLE)
    raise CommandError(f"{command[0]}: command not found{hint}", NOT_FOUND)


def _conclude(run_folder: Path, info: RunInfo, code: int, *, quiet: bool, as_json: bool) -> None:
    """Ends the run's description and says what there is. The program has run: nothing here may change its exit code."""
    missing = _why_nothing(run_folder, info)
    try:
        info = finish_run(run_folder, info, code, [missing] if missing else [])
    except FileNotFoundError:
        missing = f"run {info.id} is lost: its folder {run_folder} was removed while it was recorded"
    except OSError as error:
        say(f"{run_folder}: the run's end cannot be noted there ({error.strerror}); it will look as if it still ran")
    if quiet and not as_json and not missing:
        return
    try:
        from clew.cli.summary import as_document, only_counted, summary, told  # when the program has run, not before

        if missing and not as_json:
            say(missing)
            return
        counted = summary(run_folder)
        if counted.onlyCounted and info.finished:
            save_run(run_folder, info._replace(notes=[*info.notes, only_counted(counted)]))  # for `clew runs`
        if as_json:
            found = as_document(counted)
            document = {"run": info.id, "folder": str(run_folder), "exitCode": code, **found}
            if missing:
                document["notes"] = [missing]
            _write(json.dumps(document, ensure_ascii=False) + "\n")
        else:
            for line in told(counted, info):
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
