"""A run's folder: `.clew/runs/ID/` holds `run.json`, `plan.json`, per process a trace file and packed ones, and `store/`.

Invariant: the folder and everything in it is private to the user, and `.clew/` is ignored by git.
"""

import contextlib
import errno
import json
import os
import re
import time
from typing import TYPE_CHECKING, Any

from clew.records.errors import RunError
from clew.records.fields import FIELDS, is_number
from clew.records.tuples import NamedTuple

if TYPE_CHECKING:  # loaded where a path is made: a recorded process only needs the names here
    from pathlib import Path

RUN_FORMAT = 1
FOLDER = ".clew"
PLAN_FILE = "plan.json"
RUN_FILE = "run.json"
STORE_FOLDER = "store"
IMPORTING = ("clew", "import")
"""How the command of a run begins that is imported."""
IMPORT_FILE = "import.json"
"""In the folder of a run that was imported: the files of others that it was made of."""
ORIGIN_FILE = "mirror.json"
"""In the folder of a run that a relay writes as another machine records it: where that is."""
TRACE_SUFFIX = ".clew"
PACKED_SUFFIX = ".clewz"
REFUSED = "refused-"
"""Followed by a pid: names the empty file of a process that said on stderr why it is not recorded."""
SHOWN_NAMES = 8
_BLOCK = 4096
RUN_VARIABLE = "CLEW_RUN"
"""Environment variable that names the run's folder to every process of the run."""
CAUSE_VARIABLE = "CLEW_CAUSE"
"""Environment variable that names the use edge that started a process: `KEY-UID`, two hexadecimal numbers, the key of the
parent's SEND and the parent's process uid. `KEY-UID-ORIGIN` for a program that a process goes on as (exec): the key that
started the process. What follows a `/` is of the process's standard streams (`instrument/adapters/standard_streams.py`)."""
HIDE_VARIABLE = "CLEW_HIDE"
"""Environment variable that asks a process to take clew's variables out of its environment once it records, because the
program gave that environment itself: `added` when there was no PYTHONPATH, `kept` when clew's folder stands before its own."""


class RunInfo(NamedTuple):
    """What `run.json` says. Times are wall-clock nanoseconds."""

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
    """The process that writes the run's end, 0 when that is not known."""
    attached: bool = False
    """The run began in the middle of a program; its processes write its end, each if it is the last one."""
    imported: int = 0
    """When the run was made of a trace that others wrote, 0 for one that was recorded."""
    tests: bool = False
    """The run is a test session's."""
    commit: str = ""
    """The revision of the source that a test session is of, "" when that is not known."""
    dirty: bool = False
    """Files that the commit has were changed."""
    notes: list[str] = []  # noqa: RUF012  # never changed
    format: int = RUN_FORMAT


def host_name() -> str:
    """This machine's name."""
    if hasattr(os, "uname"):
        return os.uname().nodename
    import platform  # which every recorded process would take a millisecond to load

    return platform.node()


def boot_id() -> str:
    """Names the boot that the cycle counter and the monotonic clock count from; the host's name where there is no id."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return host_name()


def workspace_of(folder: "Path") -> "Path":
    """The nearest folder upwards that has runs, else the one that looks like a project's top, else `folder` itself."""
    folder = folder.resolve()
    for candidate in (folder, *folder.parents):
        if (candidate / FOLDER / "runs").is_dir():
            return candidate
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in (".git", "pyproject.toml", "setup.py", ".vscode")):
            return candidate
    return folder


def the_workspace(given: "Path | None") -> "Path":
    """Whose runs a command is about: the folder that was given, else what the working directory is in."""
    from pathlib import Path

    return given.resolve() if given else workspace_of(Path.cwd())


def make_folder(workspace: "Path") -> "Path":
    """The folder of all that clew keeps of a workspace: the user's alone, and not for version control. Raises OSError."""
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
    """Makes the folder of a new run and writes its two files. Raises `RunError` when that can't be done.

    `attached_to` is the process that is recorded while it runs, if the run is not of a program that is started for it.
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
        )
        try:
            write_private(folder / PLAN_FILE, plan)
            save_run(folder, info)
        except OSError:
            remove_run(folder)
            raise
    except OSError as error:
        raise RunError(
            f"{base}: cannot keep a run there ({error.strerror}); make the folder writable, or name another with --workspace"
        ) from None
    return folder, info


def remove_run(folder: "Path") -> None:
    """With all that is in it, as far as that can be removed."""
    import shutil  # which a run that begins does not need

    shutil.rmtree(folder, ignore_errors=True)


def save_run(folder: "Path", info: RunInfo) -> None:
    """Writes `run.json` whole or not at all."""
    write_private(folder / RUN_FILE, _text_of(info))


def _text_of(info: RunInfo) -> str:
    text = json.dumps(info._asdict(), indent=1, ensure_ascii=False) + "\n"
    # What a command line has that is no UTF-8 could not be shown either.
    return text.encode("utf-8", "replace").decode()


def load_plan_text(folder: "Path") -> str:
    """Raises `RunError`."""
    try:
        return (folder / PLAN_FILE).read_text(encoding="utf-8")
    except OSError as error:
        raise RunError(f"{folder / PLAN_FILE}: cannot be read ({error.strerror})") from None


def save_plan(folder: "Path", plan: str) -> None:
    """Writes `plan.json` whole or not at all. Raises `RunError`."""
    try:
        write_private(folder / PLAN_FILE, plan)
    except OSError as error:
        raise RunError(f"{folder / PLAN_FILE}: cannot be written ({error.strerror})") from None


def finish_run(folder: "Path", info: RunInfo, exit_code: int | None, notes: list[str]) -> RunInfo:
    """`exit_code` is None when the program goes on, or nobody learns it. Raises `OSError`."""
    done = info._replace(finished=time.time_ns(), exit_code=exit_code, notes=[*info.notes, *notes])
    try:
        save_run(folder, done)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not _save_in_place(folder, done):
            raise
    return done


def _save_in_place(folder: "Path", info: RunInfo) -> bool:
    """Writes `run.json` where the old one is on a disk that is full; False when that has no room for all of it."""
    text, file = _text_of(info).encode(), folder / RUN_FILE
    try:
        taken = os.stat(file)
        # One block of it is written at once: whoever reads sees the old text or the new one.
        if not taken.st_size <= len(text) <= min(getattr(taken, "st_blocks", 0) * 512, _BLOCK):
            return False
        with open(file, "r+b", buffering=0) as held:
            return held.write(text) == len(text)
    except OSError:
        return False


def load_run(folder: "Path") -> RunInfo:
    """Raises `RunError` when the folder is missing, is no run, is damaged, or is of a newer format."""
    file = folder / RUN_FILE
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        what = "there is no such folder" if not folder.is_dir() else f"it has no {RUN_FILE}"
        raise RunError(f"{folder}: not a run, {what}; `clew runs` lists the runs of this workspace") from None
    except OSError as error:
        raise RunError(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise RunError(f"{file}: half-written or damaged ({error}); record the run again") from None
    if not isinstance(data, dict) or not is_number(data.get("format")):
        raise RunError(f"{file}: not a run's description; record the run again")
    if data["format"] > RUN_FORMAT:
        raise RunError(
            f"{file}: the run is of format {data['format']}, this clew reads up to {RUN_FORMAT}; upgrade clew"
        )
    info = RunInfo(**_checked(file, data))
    if not info.imported and (folder / IMPORT_FILE).exists():
        # Without its origin it would be taken for a run of which nothing was recorded.
        raise RunError(
            f"{file}: damaged, it does not say that the run was imported; import it again with `clew import`"
        )
    return info


def _checked(file: "Path", data: dict[Any, Any]) -> dict[str, Any]:
    """The fields that this version knows. Raises `RunError` when one is missing or not what it has to be."""
    known: dict[str, Any] = {}
    for name, known_as in RunInfo.__annotations__.items():
        if name not in data:
            if name not in RunInfo._field_defaults:
                raise RunError(f"{file}: damaged, it has no field {name!r}; record the run again")
            continue
        what, fits = FIELDS[known_as]
        value = data[name]
        if not fits(value):
            raise RunError(f"{file}: damaged, its field {name!r} is not {what}; record the run again")
        known[name] = value
    return known


def list_runs(workspace: "Path") -> "list[tuple[Path, RunInfo | RunError]]":
    """Every folder under `.clew/runs`, newest first; a damaged one with the error that names it."""
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
    """The folder of a run: by path, id, name (the newest of that name) or, with None, the newest. Raises `RunError`."""
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
    known = f"known: {', '.join(names[:SHOWN_NAMES])}" if names else "none is there yet; record one with `clew run`"
    more = ", …; `clew runs` lists them all" if len(names) > SHOWN_NAMES else ""
    raise RunError(f"no run is called {which!r} in {workspace / FOLDER}; {known}{more}")


def trace_files(folder: "Path") -> "list[Path]":
    return sorted(path for path in _ending(folder, TRACE_SUFFIX) if path.is_file())


def packed_files(trace: "Path | str") -> "list[Path]":
    """What was packed of a process's trace file, oldest first: `STEM.clewz`, `STEM.1.clewz`, `STEM.2.clewz` …"""
    from pathlib import Path

    path = Path(trace)
    numbered = []
    for part in _ending(path.parent, PACKED_SUFFIX):
        if not part.name.startswith(f"{path.stem}."):
            continue
        middle = part.name[len(path.stem) : -len(PACKED_SUFFIX)]
        if not middle or middle[1:].isdigit():
            numbered.append((int(middle[1:] or 0), part))
    return [part for _, part in sorted(numbered)]


def record_files(folder: "Path") -> "list[Path]":
    """Every file of the run that holds records, packed or not."""
    return sorted([*trace_files(folder), *_ending(folder, PACKED_SUFFIX)])


def _ending(folder: "Path", suffix: str) -> "list[Path]":
    """Files by the ends of their names, without loading and compiling what takes patterns; none where there is no folder."""
    try:
        return [folder / name for name in os.listdir(folder) if name.endswith(suffix)]
    except OSError:
        return []


def disk_bytes(folder: "Path") -> int:
    """What the run's records take on disk; files with holes take less than their length. An imported run has its store only."""
    total = 0
    for path in record_files(folder) or (folder / STORE_FOLDER).glob("*"):
        with contextlib.suppress(OSError):
            status = path.stat()
            total += min(status.st_size, getattr(status, "st_blocks", status.st_size) * 512)
    return total


def write_private(path: "Path", content: str | bytes) -> None:
    """Whole or not at all, for the user alone. Raises OSError."""
    data = content if isinstance(content, bytes) else content.encode()
    temporary = path.with_name(path.name + ".part")
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
