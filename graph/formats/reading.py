"""Reads foreign files, whatever their formats, into one execution graph.

Invariant: a file is damaged, and one `FormatError` says how, or it is read; what is odd in it is a problem with a count.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clew.graph.formats import chrome, jaeger, otlp, otlp_protobuf, vector_clock, zipkin
from clew.graph.formats.collect import PSEUDO, Collector
from clew.graph.formats.json_stream import Cut, JsonStream
from clew.graph.formats.recognise import recognise
from clew.graph.formats.rows import make_graph
from clew.graph.formats.source import FormatError, Source
from clew.graph.model import ExecutionGraph
from clew.graph.progress import Progress, nobody
from clew.records.errors import Problem, RunError
from clew.records.event import Kind
from clew.records.run import IMPORT_FILE, RunInfo

IMPORT_FORMAT = 1
_JSON = {
    "otlp": otlp.read_json,
    "jaeger": jaeger.read_json,
    "zipkin": zipkin.read_json,
    "chrome": chrome.read_json,
}


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
    info: RunInfo, files: Sequence[Path], format_: str = "auto", pattern: str = "", progress: Progress = nobody
) -> Imported:
    """The files as one graph. `format_` is one of `recognise.FORMATS` or "auto"; a `pattern` says how the events of a log with
    vector clocks are written. Raises `FormatError`."""
    collector = Collector()
    origins = []
    for path in files:
        chosen = format_ if format_ != "auto" else "vector-clock" if pattern else recognise(path)
        status = path.stat() if path.exists() else None
        collector.file = path.name
        with Source(path, progress) as source:
            _read(source, chosen, pattern, collector)
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


def _read(source: Source, format_: str, pattern: str, collector: Collector) -> None:
    if format_ == "vector-clock":
        vector_clock.read(source, collector, pattern)
        return
    if format_ == "otlp" and source.start(1) in (b"\x0a", b"\x00") and otlp_protobuf.looks_like(source.start(64)):
        otlp.messages(otlp_protobuf.read(source), collector)
        return
    stream = JsonStream(source, chrome.decoder if format_ == "chrome" else None)
    try:
        _JSON[format_](stream, collector)
    except Cut:
        raise FormatError(
            f"{source.path}: it ends in the middle, at character {stream.position:,}; copy or download it again"
        ) from None
    if stream.replaced:
        collector.strange("file", "some of its text is not UTF-8; shown as \ufffd")


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
    read = read_files(info, paths, format_.pop() if len(format_) == 1 else "auto", pattern, progress)
    return read.graph, read.problems
