"""Manage the folder of a run.

`.clew/runs/ID/` contains `run.json`, `plan.json`, a trace file and compressed files per process, and `store/`.
Invariant: the folder and everything in it is private to the user, and git ignores `.clew/`.
"""

import contextlib
import errno
import json
import os
import re
import time
from typing import TYPE_CHECKING, Any

from clew.records.errors import RunError
from clew.records.fast_namedtuple import NamedTuple
from clew.records.plan.field_checks import FIELDS, is_number

if TYPE_CHECKING:  # imported where a path is made: a recorded process only needs the names here
    from pathlib import Path

RUN_FORMAT = 1
FOLDER = ".clew"
PLAN_FILE = "plan.json"
RUN_FILE = "run.json"
STORE_FOLDER = "store"
IMPORTING = ("clew", "import")
"""First words of the command of an imported run."""
IMPORT_FILE = "import.json"
"""File in the folder of an imported run that lists the source files."""
ORIGIN_FILE = "mirror.json"
"""File in the folder of a run that a relay mirrors from another machine, with the origin."""
TRACE_SUFFIX = ".clew"
COMPRESSED_SUFFIX = ".clewz"
REFUSED = "refused-"
"""Prefix of an empty file, followed by a PID: that process printed on stderr why it is not recorded."""
SHOWN_NAMES = 8
_BLOCK = 4096
RUN_VARIABLE = "CLEW_RUN"
"""Environment variable with the run's folder for every process of the run."""
CAUSE_VARIABLE = "CLEW_CAUSE"
"""Environment variable with the use edge that started a process: `KEY-UID`, two hexadecimal numbers, the key of the
parent's SEND and the parent's process uid. `KEY-UID-ORIGIN` after exec: the key that started the process. The part
after a `/` describes the process's standard streams (`instrument/adapters/processes/standard_streams.py`)."""
HIDE_VARIABLE = "CLEW_HIDE"
"""Environment variable that makes a process remove clew's variables from its environment once it records, because the
program set that environment itself: `added` when there was no PYTHONPATH, `kept` when clew's folder precedes its
own."""


class RunInfo(NamedTuple):
    """The contents of `run.json`. Times are wall-clock nanoseconds."""

    id: str
    name: str
    command: list[str]
    cwd: str
    workspace: str
    spec: str
    started: int
    finished: int | None = None
    exit_code: int | None = None
    host: str = ""
    launcher: int = 0
    """The process that writes the end of the run, 0 when unknown."""
    attached: bool = False
    """True for a run that began in the middle of a program; the last of its processes writes the end."""
    imported: int = 0
    """Time of the import for a run made from foreign traces, 0 for a recorded run."""
    tests: bool = False
    """True for the run of a test session."""
    commit: str = ""
    """Source revision of a test session, "" when unknown."""
    dirty: bool = False
    """True if files of the commit were modified."""
    pythonpath: str = ""
    """The variable PYTHONPATH where the run was started."""
    notes: list[str] = []  # noqa: RUF012  # never changed
    format: int = RUN_FORMAT


def host_name() -> str:
    """Return this machine's name."""
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform  # loading it would cost every recorded process a millisecond

    return platform.node()


def boot_id() -> str:
    """Return the id of the current boot, at which the cycle counter and the monotonic clock started.

    If it is unavailable, return the host's name.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return host_name()


def workspace_of(folder: "Path") -> "Path":
    """Return the nearest parent folder with runs, or else the nearest one with a project's files, or else `folder`."""
    folder = folder.resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / FOLDER / "runs").is_dir():
            return candidate
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in (".git", "pyproject.toml", "setup.py", ".vscode")):
            return candidate
    return folder


def the_workspace(given: "Path | None") -> "Path":
    """Return the workspace of a command: the given folder, else that of the working directory."""
    from pathlib import Path

    return given.resolve() if given else workspace_of(Path.cwd())


def make_folder(workspace: "Path") -> "Path":
    """Create the folder for all of clew's files of a workspace: private to the user, and ignored by version control.

    Raises OSError.
    """
    base = workspace / FOLDER
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    base.chmod(0o700)
    ignore = base / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", encoding="utf-8")
    return base


def create_run(
    workspace: "Path",
    *,
    name: str,
    command: list[str],
    spec: str,
    plan: str,
    cwd: "Path | None" = None,
    attached_to: int = 0,
) -> "tuple[Path, RunInfo]":
    """Create the folder of a new run and write its two files. Raises `RunError` when that is impossible.

    `attached_to` is the running process to record, unless the run starts its program.
    """
    started = time.time_ns()
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(started / 1e9))
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "run"
    base = workspace / FOLDER
    try:
        make_folder(workspace)
        (base / "runs").mkdir(exist_ok=True, mode=0o700)
        (base / "runs").chmod(0o700)
        number = 1
        while True:
            run_id = f"{stamp}-{slug}" + (f"-{number}" if number > 1 else "")
            try:
                (base / "runs" / run_id).mkdir(mode=0o700)
                break
            except FileExistsError:
                number += 1
        folder = base / "runs" / run_id
        info = RunInfo(
            id=run_id,
            name=name,
            command=command,
            cwd=str(cwd or os.getcwd()),
            workspace=str(workspace),
            spec=spec,
            started=started,
            host=host_name(),
            launcher=attached_to or os.getpid(),
            attached=bool(attached_to),
            pythonpath="" if attached_to else os.environ.get("PYTHONPATH", ""),
        )
        try:
            write_private(folder / PLAN_FILE, plan)
            save_run(folder, info)
        except OSError:
            remove_run(folder)
            raise
    except OSError as error:
        raise RunError(
            f"{base}: cannot create a run there ({error.strerror}); make the folder writable, "
            "or choose another one with --workspace"
        ) from None
    return folder, info


def remove_run(folder: "Path") -> None:
    """Remove a run with all its contents, as far as possible."""
    import shutil  # not needed to start a run

    shutil.rmtree(folder, ignore_errors=True)


def save_run(folder: "Path", info: RunInfo) -> None:
    """Write `run.json` atomically."""
    write_private(folder / RUN_FILE, _text_of(info))


def _text_of(info: RunInfo) -> str:
    text = json.dumps(info._asdict(), indent=1, ensure_ascii=False) + "\n"
    # Command-line arguments that are not UTF-8 could not be displayed either.
    return text.encode("utf-8", "replace").decode()


def load_plan_text(folder: "Path") -> str:
    """Read the plan's text. Raises `RunError`."""
    try:
        return (folder / PLAN_FILE).read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(f"{folder / PLAN_FILE}: cannot be read ({error.strerror})") from None


def save_plan(folder: "Path", plan: str) -> None:
    """Write `plan.json` atomically. Raises `RunError`."""
    try:
        write_private(folder / PLAN_FILE, plan)
    except OSError as error:
        raise RunError(f"{folder / PLAN_FILE}: cannot be written ({error.strerror})") from None


def finish_run(folder: "Path", info: RunInfo, exit_code: int | None, notes: list[str]) -> RunInfo:
    """Write the end of a run; `exit_code` is None when the program continues or the code is unknown. Raises `OSError`."""
    done = info._replace(finished=time.time_ns(), exit_code=exit_code, notes=[*info.notes, *notes])
    try:
        save_run(folder, done)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not _save_in_place(folder, done):
            raise
    return done


def _save_in_place(folder: "Path", info: RunInfo) -> bool:
    """Overwrite `run.json` in place on a full disk; return False when the space does not suffice."""
    text, file = _text_of(info).encode(), folder / RUN_FILE
    try:
        taken = os.stat(file)
        # One block is written at once: readers see either the old text or the new one.
        if not taken.st_size <= len(text) <= min(getattr(taken, "st_blocks", 0) * 512, _BLOCK):
            return False
        with open(file, "r+b", buffering=0) as held:
            return held.write(text) == len(text)
    except OSError:
        return False


def load_run(folder: "Path") -> RunInfo:
    """Load a run's description.

    Raises `RunError` when the folder is missing, is not a run, is damaged, or has a newer format.
    """
    file = folder / RUN_FILE
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        what = "the folder does not exist" if not folder.is_dir() else f"it has no {RUN_FILE}"
        raise RunError(f"{folder}: not a run, {what}; run `clew runs` to list the runs of this workspace") from None
    except OSError as error:
        raise RunError(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise RunError(f"{file}: incomplete or damaged ({error}); record the run again") from None
    if not isinstance(data, dict) or not is_number(data.get("format")):
        raise RunError(f"{file}: not the description of a run; record the run again")
    if data["format"] > RUN_FORMAT:
        raise RunError(
            f"{file}: the run has format {data['format']}, but this clew reads up to {RUN_FORMAT}; upgrade clew"
        )
    info = RunInfo(**_checked(file, data))
    if not info.imported and info.finished is not None and (folder / IMPORT_FILE).exists():
        # Without its origin, the run would look like a recording without events. An import in progress is not finished.
        raise RunError(f"{file}: damaged, the origin of the import is missing; import it again with `clew import`")
    return info


def _checked(file: "Path", data: dict[Any, Any]) -> dict[str, Any]:
    """Return the fields known to this version. Raises `RunError` when one is missing or has the wrong type."""
    known: dict[str, Any] = {}
    for name, known_as in RunInfo.__annotations__.items():
        if name not in data:
            if name not in RunInfo._field_defaults:
                raise RunError(f"{file}: damaged, the field {name!r} is missing; record the run again")
            continue
        what, fits = FIELDS[known_as]
        value = data[name]
        if not fits(value):
            raise RunError(f"{file}: damaged, its field {name!r} is not {what}; record the run again")
        known[name] = value
    return known


def list_runs(workspace: "Path") -> "list[tuple[Path, RunInfo | RunError]]":
    """Return every folder under `.clew/runs`, newest first; a damaged one with an error that names it."""
    base = workspace / FOLDER / "runs"
    found: list[tuple[Path, RunInfo | RunError]] = []
    for folder in sorted(base.iterdir() if base.is_dir() else (), reverse=True):
        if folder.is_dir():
            try:
                found.append((folder, load_run(folder)))
            except RunError as error:
                found.append((folder, error))
    return sorted(found, key=lambda entry: _made(entry[1]), reverse=True)


def _made(info: RunInfo | RunError) -> int:
    return (info.imported or info.started) if isinstance(info, RunInfo) else 0


def find_run(workspace: "Path", which: str | None = None) -> "Path":
    """Return the folder of a run: by path, id, name (the newest of that name) or, with None, the newest.

    Raises `RunError`.
    """
    from pathlib import Path

    if which and (os.sep in which or which in (".", "..")):
        load_run(Path(which))
        return Path(which).resolve()
    runs = [(folder, info) for folder, info in list_runs(workspace) if isinstance(info, RunInfo)]
    if which is None:
        if not runs:
            raise RunError(f"{workspace / FOLDER}: no run yet; record one with `clew run -- python your_program.py`")
        return runs[0][0]
    for folder, info in runs:
        if which in (info.id, info.name):
            return folder
    if (Path(which) / RUN_FILE).exists():
        return Path(which).resolve()
    names = list(dict.fromkeys(info.name for _, info in runs))
    known = f"known: {', '.join(names[:SHOWN_NAMES])}" if names else "no run yet; record one with `clew run`"
    more = ", …; run `clew runs` to list them all" if len(names) > SHOWN_NAMES else ""
    raise RunError(f"no run named {which!r} in {workspace / FOLDER}; {known}{more}")


def trace_files(folder: "Path") -> "list[Path]":
    return sorted(path for path in _ending(folder, TRACE_SUFFIX) if path.is_file())


def compressed_files(trace: "Path | str") -> "list[Path]":
    """Return the compressed files of a process's trace file, oldest first: `STEM.clewz`, `STEM.1.clewz`, `STEM.2.clewz`
    …"""
    from pathlib import Path

    path = Path(trace)
    numbered = []
    for part in _ending(path.parent, COMPRESSED_SUFFIX):
        if not part.name.startswith(f"{path.stem}."):
            continue
        middle = part.name[len(path.stem) : -len(COMPRESSED_SUFFIX)]
        if not middle or middle[1:].isdigit():
            numbered.append((int(middle[1:] or 0), part))
    return [part for _, part in sorted(numbered)]


def record_files(folder: "Path") -> "list[Path]":
    """Return every file of the run that holds records, compressed or not."""
    return sorted([*trace_files(folder), *_ending(folder, COMPRESSED_SUFFIX)])


def _ending(folder: "Path", suffix: str) -> "list[Path]":
    """List files by suffix, without importing pattern matching; empty if the folder does not exist."""
    try:
        return [folder / name for name in os.listdir(folder) if name.endswith(suffix)]
    except OSError:
        return []


def disk_bytes(folder: "Path") -> int:
    """Return the disk usage of the run's records; files with holes use less than their length.

    An imported run has only its store.
    """
    total = 0
    for path in record_files(folder) or (folder / STORE_FOLDER).glob("*"):
        with contextlib.suppress(OSError):
            status = path.stat()
            total += min(status.st_size, getattr(status, "st_blocks", status.st_size) * 512)
    return total


def write_private(path: "Path", content: str | bytes) -> None:
    """Write a file atomically, readable only by the user. Raises OSError."""
    data = content if isinstance(content, bytes) else content.encode()
    temporary = path.with_name(path.name + ".part")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
