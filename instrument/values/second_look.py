"""Run a test or a program again under the tracer of values, in a process of its own.

A second look repeats the side effects of the program. For anything other than a test, the caller must have the user's consent.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from clew.instrument.values.look_request import LOOK_VARIABLE, MARKED, SWITCHED_OFF, LookRequest, outcome_of
from clew.records.errors import ClewError
from clew.records.extensions import SECOND_LOOK, missing
from clew.records.fast_namedtuple import NamedTuple

Tick = Callable[[float], None]
"""Is called about ten times a second with the seconds that passed; may raise to cancel."""
_PLUGIN = "clew.instrument.values.look_plugin"
_RECORDING_PLUGIN = "clew.instrument.pytest_plugin"
_LONGEST_SAID = 300
"""Characters of what a failed second look printed."""
_GRACE = 3.0


def check_interpreter() -> None:
    """Raise `SecondLookError` if this interpreter cannot take a second look."""
    if not SECOND_LOOK:
        version = ".".join(map(str, sys.version_info[:2]))
        raise SecondLookError(f"a second look needs CPython 3.11, 3.12 or 3.13 with its GIL; this is {version}")
    if absent := missing(SECOND_LOOK):
        raise SecondLookError(absent)


class SecondLookError(ClewError):
    """The second look gave no trace."""


class Look(NamedTuple):
    """A finished second look."""

    folder: Path
    outcome: str
    """Of the test: "failed", "passed", "skipped"; a program without an exception passed."""
    output: str
    """The end of what it printed."""
    seconds: float


def look_at_test(
    request: LookRequest,
    *,
    python: str = "",
    words: Sequence[str] = (),
    cwd: str = "",
    pythonpath: str = "",
    tick: Tick | None = None,
) -> Look:
    """Run a test again.

    `words` are pytest's arguments in the first run, and `cwd` is its working directory; the plugin of the second look
    replaces what selects and reports tests. Raises `SecondLookError` if the test did not run, and what `tick` raises.
    """
    arguments = [python or sys.executable, "-m", "pytest", *(words or [request.test]), "-p", _PLUGIN]
    arguments += ["--assert=plain", "--no-clew", "-q", "--no-header", "--tb=short"]
    variables = {LOOK_VARIABLE: request.dump(), **_variables(pythonpath)}
    if any(word.removeprefix("-p") == _RECORDING_PLUGIN for word in words):
        # Pytest refuses this word if it loads plugins by itself, so it did not in the first run.
        variables["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    look = _run(arguments, Path(cwd or request.root), request, variables=variables, tick=tick, what=request.test)
    if look.outcome in (MARKED, SWITCHED_OFF):
        raise SecondLookError(f"{request.test} must not run again: {look.outcome}")
    if not look.outcome:
        raise SecondLookError(f"{request.test} did not run in the second look; pytest said: {_last(look.output)}")
    return look


def pytest_words(command: Sequence[str]) -> list[str]:
    """Return the arguments of pytest in a command line; none if it was started in another way."""
    for place, word in enumerate(command):
        name = os.path.basename(word).removesuffix(".exe").removesuffix("-script.py")
        is_module = word == "pytest" and place > 0 and command[place - 1] == "-m"
        if is_module or (name in ("pytest", "py.test") and place < 2):
            return list(command[place + 1 :])
    return []


def look_at_program(
    command: Sequence[str],
    cwd: Path,
    request: LookRequest,
    *,
    python: str = "",
    pythonpath: str = "",
    tick: Tick | None = None,
) -> Look:
    """Run a Python program again. `command` is its command line. Raises `SecondLookError` if it cannot be run so."""
    words = program_of(command)
    arguments = [python or sys.executable, "-P", "-m", "clew.instrument.values.program", request.dump(), *words]
    return _run(arguments, cwd, request, variables=_variables(pythonpath), tick=tick, what=" ".join(words))


def program_of(command: Sequence[str]) -> list[str]:
    """Return the script or `-m MODULE` of a Python command line, with its arguments. Raises `SecondLookError`."""
    name = os.path.basename(command[0]) if command else ""
    rest = list(command[1:]) if name.startswith("python") else list(command)
    while rest and rest[0] in ("-u", "-B", "-O", "-E", "-s", "-P", "-I"):
        rest.pop(0)
    if rest and (rest[0].endswith(".py") or (rest[0] == "-m" and len(rest) > 1)):
        return rest
    shown = " ".join(command)
    raise SecondLookError(f"a second look runs Python scripts and modules; it cannot run `{shown}` again")


def _variables(pythonpath: str) -> dict[str, str]:
    """Return the variables of the first run that this process may not have."""
    return {"PYTHONPATH": pythonpath} if pythonpath else {}


def _run(
    arguments: list[str], cwd: Path, request: LookRequest, *, variables: dict[str, str], tick: Tick | None, what: str
) -> Look:
    folder = Path(request.folder)
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CLEW_")}
    # The same seed as another second look, so that both take the same path through sets.
    environment = {"PYTHONHASHSEED": "0", **kept, **variables}
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                arguments, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise SecondLookError(f"{what}: the second look cannot start {arguments[0]} ({error.strerror})") from None
        try:
            while process.poll() is None:
                time.sleep(0.02)
                if tick is not None:
                    tick(time.monotonic() - begun)
        finally:
            _end(process)
        output.seek(0)
        text = output.read().decode(errors="replace")
    outcome = outcome_of(folder)
    if outcome is None:
        raise SecondLookError(f"{what}: the second look ended without a trace; it said: {_last(text)}")
    return Look(folder, outcome, text[-4000:], time.monotonic() - begun)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process that still runs, with all that it started."""
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except OSError:
            return
        try:
            process.wait(_GRACE)
            return
        except subprocess.TimeoutExpired:
            continue


def _last(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith(("ERROR", "E  ", "error:", "usage:"))]
    last = (errors or lines or ["nothing"])[-1]
    return last if len(last) <= _LONGEST_SAID else f"{last[: _LONGEST_SAID - 1]}…"
