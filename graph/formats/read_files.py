"""Read foreign files of any formats into one execution graph.

Invariant: a file is either read, with a counted problem for each kind of oddity, or refused with one `FormatError`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clew.graph.formats.detection import recognise
from clew.graph.formats.registry import AUTO, format_named, formats
from clew.graph.formats.source import FormatError, Source
from clew.graph.formats.spans.collector import PSEUDO, Collector
from clew.graph.formats.spans.to_graph import make_graph
from clew.graph.model.graph import ExecutionGraph
from clew.graph.runtime.progress import Progress, no_progress
from clew.records.errors import Problem, RunError
from clew.records.format.event import Kind
from clew.records.run.directory import IMPORT_FILE, RunInfo

IMPORT_FORMAT = 1


@dataclass(frozen=True)
class Origin:
    """A file that a run was imported from, with its size in bytes and its modification time in nanoseconds."""

    path: str
    size: int
    modified: int
    format: str


@dataclass(frozen=True)
class Imported:
    """The result of reading foreign files."""

    graph: ExecutionGraph
    problems: list[Problem]
    origins: list[Origin]
    spans: int
    logs: int


def read_files(
    info: RunInfo, files: Sequence[Path], format_: str = AUTO, pattern: str = "", progress: Progress = no_progress
) -> Imported:
    """Read the files into one graph.

    `format_` is the name of a format or `AUTO`. `pattern` describes the events of a log with vector clocks. Raises
    `FormatError`.
    """
    collector = Collector()
    origins = []
    for path in files:
        chosen = format_
        if format_ == AUTO:
            chosen = next(each.name for each in formats() if each.takes_pattern) if pattern else recognise(path)
        status = path.stat() if path.exists() else None
        collector.file = path.name
        with Source(path, progress) as source:
            format_named(chosen).read(source, collector, pattern)
        if status is not None:
            origins.append(Origin(str(path.resolve()), status.st_size, status.st_mtime_ns, chosen))
    if not len(collector.spans) and not len(collector.points):
        names = ", ".join(str(path) for path in files)
        raise FormatError(
            f"{names}: the trace contains no spans and no logs; was it written before anything was traced?"
        )
    kinds = collector.points.columns["kind"]
    spans = sum(not flags & PSEUDO for flags in collector.spans.columns["flags"]) + kinds.count(Kind.ENTER)
    logs = kinds.count(Kind.LOG)
    graph, problems = make_graph(info, collector)
    return Imported(graph, problems, origins, spans, logs)


def origins_text(origins: Sequence[Origin], pattern: str) -> str:
    """Return the content of `import.json`."""
    files = [vars(origin) for origin in origins]
    return json.dumps({"format": IMPORT_FORMAT, "pattern": pattern, "files": files}, indent=1) + "\n"


def sources(folder: Path) -> list[Path]:
    """Return the files that a run was imported from, or nothing if `import.json` cannot be read."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        data = json.loads((folder / IMPORT_FILE).read_text(encoding="utf-8"))
        return [Path(origin["path"]) for origin in data["files"]]
    return []


def read_again(folder: Path, info: RunInfo, progress: Progress = no_progress) -> tuple[ExecutionGraph, list[Problem]]:
    """Read the graph of an imported run from its files again.

    Raises `RunError` if a file is gone or has changed, and `FormatError`.
    """
    file = folder / IMPORT_FILE
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        origins = [Origin(**origin) for origin in data["files"]]
        pattern = str(data["pattern"])
        format_ = {origin.format for origin in origins}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise RunError(f"{file}: damaged; import the trace again with `clew import`") from None
    for origin in origins:
        path = Path(origin.path)
        if not path.is_file() or path.stat().st_size != origin.size or path.stat().st_mtime_ns != origin.modified:
            raise RunError(
                f"{folder}: its store cannot be used, and {origin.path}, which it was imported from, is gone or has changed; "
                "import it again with `clew import`"
            )
    paths = [Path(origin.path) for origin in origins]
    read = read_files(info, paths, format_.pop() if len(format_) == 1 else AUTO, pattern, progress)
    return read.graph, read.problems
