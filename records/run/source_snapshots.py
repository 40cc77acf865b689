"""Save the texts of a run's source files for the time after they change: `.clew/sources/`, by content, for all runs.

    .clew/sources/ab/cdef….z         a text, compressed; its name is its SHA-256
    .clew/runs/ID/sources.json       the text of each file of the run, and whether it is certain

The recorded process only notes modification time and size of each file when it loads it. Invariant: a text is certain
only if it is the one that ran. Either the file has the same time and size as then, or it was not modified since before
the process began, or git has it in a commit that was checked out unmodified. Uncertain texts are marked. For a foreign
trace, a file counts if it was not modified since the trace began, or git knows no later version.
"""

import contextlib
import importlib
import itertools
import json
import os
import re
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from clew.records.errors import ClewError
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.event import SiteInfo
from clew.records.read.process_records import ProcessRecords
from clew.records.run.directory import FOLDER, RunInfo, load_run, write_private

INDEX_FILE = "sources.json"
SOURCES_FOLDER = "sources"
FORMAT = 1
MOST_FILE = 4 << 20
"""Maximum bytes of one file; larger files are generated and not useful to read."""
MOST_RUN = 64 << 20
"""Maximum bytes of all files of a run, uncompressed."""
MOST = 256 << 20
"""Maximum bytes of all saved texts of a workspace, compressed; beyond that the oldest are removed."""
PRUNED_EVERY = 3600.0
"""Seconds between two searches for unreferenced texts; a newer text may belong to a run that is not saved yet."""
MOST_NAMED = 500
"""Maximum files of a foreign trace."""
_PRUNED = ".pruned"
_NO_SOURCE = frozenset({"", "adapter", "builtin", "line"})
"""Kinds of sites that do not belong to the program's own text."""


class Source(NamedTuple):
    """The known facts about a file's text in a run."""

    digest: str
    certain: bool
    why: str = ""
    """Reason why it is uncertain, for the user."""


class _File(NamedTuple):
    """A file as seen by the processes of a run."""

    sites: list[SiteInfo]
    states: set[tuple[int, int]]
    """Modification time (ns) and size when it was loaded; empty when no process knows."""
    began: int
    """When the first process with sites of it began, wall-clock ns; 0 when unknown."""


def keep(run_folder: Path, processes: Iterable[ProcessRecords] | None = None) -> None:
    """Save the available text of every file with sites in the run; a certain text that is already saved is not replaced.

    This function never raises: texts that cannot be saved (for example on a full disk) are skipped. `processes` comes
    from `read_run` without events.
    """
    with contextlib.suppress(OSError, ClewError, ValueError):
        info = load_run(run_folder)
        if info.imported:
            return
        if processes is None:
            from clew.records.read.reader import read_run  # not needed by a server that only lists runs

            processes = read_run(run_folder, events=False).processes
        known = index(run_folder)
        found = dict(known)
        bytes_left = MOST_RUN
        for path, file in _files(processes).items():
            if bytes_left <= 0:
                break
            if path in known and known[path].certain and _text_file(run_folder, known[path].digest).exists():
                continue
            read = _read(path, file, info)
            if read is not None:
                data, certain, why = read
                bytes_left -= len(data)
                found[path] = Source(_put(run_folder, data), certain, why)
        if found != known or not (run_folder / INDEX_FILE).exists():
            _write(run_folder, found)
        _prune_now_and_then(folder_of(run_folder))


def keep_named(run_folder: Path, lines: Mapping[str, int], began: int) -> None:
    """Save the files of a foreign trace. This function never raises.

    `lines` has the last referenced line of each file; `began` is the start in wall-clock ns.
    """
    found: dict[str, Source] = {}
    bytes_left = MOST_RUN
    for path, last in itertools.islice(lines.items(), MOST_NAMED):
        if not os.path.isabs(path):
            continue
        data, certain = _on_disk(path, _File([], set(), began))
        if data is None or (bytes_left := bytes_left - len(data)) <= 0:
            continue
        with contextlib.suppress(OSError):
            why = "" if certain else _why_changed(path, began)
            if data.count(b"\n") + 1 < last:
                why = f"the trace refers to line {last}, but the file is shorter"
            found[path] = Source(_put(run_folder, data), not why, why)
    if found:
        with contextlib.suppress(OSError):
            _write(run_folder, found)


def _why_changed(path: str, began: int) -> str:
    """Return why a file that was modified since may differ; "" if git knows no later version of it."""
    from clew.records.run import git_revision  # it starts processes

    changed = git_revision.changed(Path(path))
    if changed is None:
        return "it was changed after the trace began"
    return "" if changed * 1_000_000_000 < began else "it was committed after the trace began"


def index(run_folder: Path) -> dict[str, Source]:
    """Return the saved texts of a run by path; empty if there are none, or the index is invalid."""
    try:
        data: Any = json.loads((run_folder / INDEX_FILE).read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            return {}
        return {
            str(path): Source(_digest(one["digest"]), one["certain"] is True, str(one["why"]))
            for path, one in data["files"].items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}


def _write(run_folder: Path, found: Mapping[str, Source]) -> None:
    """Write the index. Raises OSError."""
    named = {path: source._asdict() for path, source in found.items()}
    write_private(run_folder / INDEX_FILE, json.dumps({"format": FORMAT, "files": named}, indent=1))


def text(run_folder: Path, source: Source) -> str | None:
    """Return a saved text; None when it is missing or does not match its digest."""
    try:
        data = _decompressed(_text_file(run_folder, source.digest).read_bytes())
    except (OSError, ValueError, zlib.error):
        return None
    return data.decode("utf-8", "replace") if _digest_of(data) == source.digest else None


def compressed_text(run_folder: Path, digest: str) -> bytes | None:
    """Return a saved text in compressed form, for `take`; None when it is missing."""
    try:
        return _text_file(run_folder, _digest(digest)).read_bytes()
    except (OSError, ValueError):
        return None


def missing(run_folder: Path, named: Mapping[str, Source]) -> list[str]:
    """Return the digests of texts that are not saved for the run."""
    digests = dict.fromkeys(source.digest for source in named.values())
    return [digest for digest in digests if not _text_file(run_folder, digest).exists()]


def take(run_folder: Path, digest: str, compressed: bytes) -> None:
    """Save a text from another machine. Raise `ValueError` if it does not match its digest, or `OSError`."""
    try:
        data = _decompressed(compressed)
    except zlib.error:
        raise ValueError("a source text is damaged") from None
    if _digest_of(data) != digest:
        raise ValueError("a source text does not match its digest")
    _put(run_folder, data)


def name(run_folder: Path, named: Mapping[str, Source]) -> None:
    """Write the index of a run that was recorded on another machine. Raise `OSError` on failure."""
    if named != index(run_folder):
        _write(run_folder, named)


def named_of(data: object) -> dict[str, Source]:
    """Deserialize sources by path. Raises ValueError for invalid data."""
    if not isinstance(data, dict):
        raise ValueError("not the sources of a run")
    found = {}
    for path, one in data.items():
        if not isinstance(one, list) or len(one) != len(Source._fields):
            raise ValueError("not the sources of a run")
        digest, certain, why = one
        found[str(path)] = Source(_digest(digest), certain is True, str(why))
    return found


def prune(workspace: Path) -> None:
    """Remove the texts that no run of the workspace references."""
    _prune(workspace / FOLDER / SOURCES_FOLDER)


def folder_of(run_folder: Path) -> Path:
    """Return the folder of a run's texts: next to the workspace's runs, or within a run outside of a workspace."""
    folder = run_folder.absolute()
    shared = folder.parent.name == "runs" and folder.parent.parent.name == FOLDER
    return (folder.parent.parent if shared else folder) / SOURCES_FOLDER


def _files(processes: Iterable[ProcessRecords]) -> dict[str, _File]:
    found: dict[str, _File] = {}
    for process in processes:
        for site in process.sites.values():
            if site.kind in _NO_SOURCE or not os.path.isabs(site.file):
                continue
            began = process.header.start_wall_ns
            file = found.setdefault(site.file, _File([], set(), began))
            file.sites.append(site)
            if site.modified:
                file.states.add((site.modified, site.size))
            if began < file.began:
                found[site.file] = file._replace(began=began)
    return found


def _read(path: str, file: _File, info: RunInfo) -> tuple[bytes, bool, str] | None:
    """Return the text, whether it is certain and, if not, why; None when no text is possible."""
    data, certain = _on_disk(path, file)
    if data is not None and certain and len(file.states) <= 1:
        return data, True, ""
    if info.commit and not info.dirty:
        from clew.records.run import git_revision  # it starts processes

        committed = git_revision.committed(Path(info.workspace), info.commit, path)
        if committed is not None and len(committed) <= MOST_FILE:
            sizes = {size for _, size in file.states}
            if sizes <= {len(committed)}:
                return committed, True, ""
    if data is None or not _fits(data, file.sites):
        return None
    if len(file.states) > 1:
        return data, False, "processes of the run loaded different versions of it"
    return data, False, "it was changed after it had been loaded" if file.states else "it was changed during the run"


def _on_disk(path: str, file: _File) -> tuple[bytes | None, bool]:
    """Return the text, and whether it is unchanged since it was loaded."""
    try:
        with open(path, "rb") as source:
            before = os.fstat(source.fileno())
            if before.st_size > MOST_FILE:
                return None, False
            data = source.read(MOST_FILE + 1)
            after = os.fstat(source.fileno())
    except (OSError, ValueError):
        return None, False
    state = after.st_mtime_ns, after.st_size
    if len(data) != after.st_size or (before.st_mtime_ns, before.st_size) != state:
        return None, False  # it is being written
    if file.states:
        return data, state in file.states
    # A rename can be newer than the text; the inode change time shows a later rename.
    return data, 0 < max(after.st_mtime_ns, after.st_ctime_ns) < file.began


def _fits(data: bytes, sites: Iterable[SiteInfo]) -> bool:
    """Return whether the sites fit this text: each function begins where it was recorded."""
    lines = data.decode("utf-8", "replace").splitlines()
    for site in sites:
        name = site.qualname.rpartition(".")[2]
        if site.kind not in ("function", "coroutine", "generator", "async_generator") or name.startswith("<"):
            continue
        line = lines[site.line - 1].strip() if 0 < site.line <= len(lines) else ""
        if not line.startswith("@") and not re.match(rf"(?:async\s+)?def\s+{re.escape(name)}\b", line):
            return False
    return True


def _put(run_folder: Path, data: bytes) -> str:
    """Save a text. Raises OSError."""
    digest = _digest_of(data)
    path = _text_file(run_folder, digest)
    try:
        os.utime(path)  # it is used again
    except OSError:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_private(path, zlib.compress(data))
    return digest


def _text_file(run_folder: Path, digest: str) -> Path:
    return folder_of(run_folder) / digest[:2] / f"{digest[2:]}.z"


def _digest_of(data: bytes) -> str:
    # hashlib also loads OpenSSL, which takes as long as hashing a megabyte.
    own = "_sha2" if sys.version_info >= (3, 12) else "_sha256"
    try:
        made = importlib.import_module(own)
    except ImportError:
        made = importlib.import_module("hashlib")
    return str(made.sha256(data).hexdigest())


def _digest(value: object) -> str:
    """Check a digest, because it becomes part of a path. Raises ValueError."""
    if not isinstance(value, str) or not re.fullmatch("[0-9a-f]{64}", value):
        raise ValueError("not a digest")
    return value


def _decompressed(data: bytes) -> bytes:
    """Decompress a file of any content with a bounded size."""
    decompressor = zlib.decompressobj()
    text = decompressor.decompress(data, MOST_FILE + 1)
    if not decompressor.eof:
        raise ValueError("a source text is too large")
    return text


def _prune_now_and_then(folder: Path) -> None:
    mark = folder / _PRUNED
    with contextlib.suppress(OSError):
        if time.time() - mark.stat().st_mtime < PRUNED_EVERY:
            return
    if folder.is_dir():
        _prune(folder)


def _prune(folder: Path) -> None:
    """Remove unreferenced texts unless they were saved just now, then the oldest until the rest is within the limit."""
    with contextlib.suppress(OSError):
        runs = [folder.parent] if (folder.parent / INDEX_FILE).exists() else (folder.parent / "runs").iterdir()
        named = {source.digest for run in runs for source in index(run).values()}
        settled = time.time() - PRUNED_EVERY
        left = []
        for path, status in _saved_files(folder):
            if path.parent.name + path.stem in named or status.st_mtime > settled:
                left.append((status.st_mtime, status.st_size, path))
            else:
                path.unlink(missing_ok=True)
        size = sum(one for _, one, _ in left)
        for _, one, path in sorted(left):
            if size <= MOST:
                break
            path.unlink(missing_ok=True)
            size -= one
        write_private(folder / _PRUNED, "")


def _saved_files(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    for path in folder.glob("??/*.z"):
        with contextlib.suppress(OSError):
            yield path, path.stat()
