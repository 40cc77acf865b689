"""Reads foreign files, whatever their formats, into one execution graph.

Invariant: a file is damaged, and one `FormatError` says how, or it is read; what is odd in it is a problem with a count.
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
from clew.graph.runtime.progress import Progress, nobody
from clew.records.errors import Problem, RunError
from clew.records.format.event import Kind
from clew.records.run.directory import IMPORT_FILE, RunInfo

IMPORT_FORMAT = 1


@dataclass(frozen=True)
class Origin:
    """A file that a run was made of; size in bytes, time of its last change in nanoseconds."""

    path: str
    size: int
    modified: int
    format: str


@dataclass(frozen=True)
class Imported:
    """What came of foreign files."""

    graph: ExecutionGraph
    problems: list[Problem]
    origins: list[Origin]
    spans: int
    logs: int


def read_files(
    info: RunInfo, files: Sequence[Path], format_: str = AUTO, pattern: str = "", progress: Progress = nobody
) -> Imported:
    """Read the files into one graph. `format_` is the name of a format or `AUTO`; a `pattern` says how the events of a log with
    vector clocks are written. Raises `FormatError`."""
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
        raise FormatError(f"{names}: no span and no log in it; was the trace still empty when it was written?")
    kinds = collector.points.columns["kind"]
    spans = sum(not flags & PSEUDO for flags in collector.spans.columns["flags"]) + kinds.count(Kind.ENTER)
    logs = kinds.count(Kind.LOG)
    graph, problems = make_graph(info, collector)
    return Imported(graph, problems, origins, spans, logs)


def origins_text(origins: Sequence[Origin], pattern: str) -> str:
    """What `import.json` says."""
    files = [vars(origin) for origin in origins]
    return json.dumps({"format": IMPORT_FORMAT, "pattern": pattern, "files": files}, indent=1) + "\n"


def sources(folder: Path) -> list[Path]:
    """The files that an imported run was made of, as far as that can be told."""
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, RecursionError):
        said = json.loads((folder / IMPORT_FILE).read_text(encoding="utf-8"))
        return [Path(origin["path"]) for origin in said["files"]]
    return []


def read_again(folder: Path, info: RunInfo, progress: Progress = nobody) -> tuple[ExecutionGraph, list[Problem]]:
    """The graph of an imported run, from the files that it was made of. Raises `RunError` where those are no more what they
    were, and `FormatError`."""
    file = folder / IMPORT_FILE
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        origins = [Origin(**origin) for origin in said["files"]]
        pattern = str(said["pattern"])
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
