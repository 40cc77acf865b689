"""Fixtures that import foreign files, and accessors for the graphs made of them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from clew.graph.formats.read_files import read_files
from clew.records.format.event import EdgeKind, Kind
from clew.records.run.directory import RunInfo

INFO = RunInfo("20200101-000000-trace", "trace", [], "/", "/", "", 0)
SHARED = Path(os.environ.get("CLEW_SHARED_DATA") or Path(__file__).resolve().parents[4] / "shared" / "data")


@pytest.fixture(scope="session")
def shared_file():
    """Return a function that finds a real file, and skips the test if it is missing."""

    def found(*parts):
        path = SHARED.joinpath(*parts)
        if not path.exists():
            pytest.skip(f"no real traces: {path} is not there; CLEW_SHARED_DATA names their folder")
        return path

    return found


class ImportedTrace:
    """The graph made of some files, with its contents by span name."""

    def __init__(self, read):
        self.read, self.graph = read, read.graph
        graph = self.graph
        self.started = graph.info.started
        self.problems = [problem.what for problem in read.problems]
        self.calls = graph.calls.enter.tolist()

    def name(self, row):
        return self.graph.sites[int(self.graph.site[row])].qualname

    def spans(self):
        """Return the name, start and end of every span, in nanoseconds since 1970."""
        graph = self.graph
        return sorted(
            (self.name(enter), graph.wall_ns(enter), graph.wall_ns(exit_))
            for enter, exit_ in zip(self.calls, graph.calls.exit.tolist(), strict=True)
        )

    def parents(self):
        """Return for each span name its caller's name, or the source of the edge into its beginning; None for a root."""
        graph = self.graph
        found = {}
        opened = {}
        for edge, target in enumerate(graph.edge_dst.tolist()):
            if graph.kind[target] == Kind.RECEIVE:
                opened[graph.call_of(target)] = graph.call_of(int(graph.edge_src[edge]))
        for enter, caller in zip(self.calls, graph.calls.caller.tolist(), strict=True):
            above = caller if caller >= 0 else opened.get(enter, -1)
            found[self.name(enter)] = self.name(above) if above >= 0 else None
        return found

    def requests(self):
        return sorted(self.graph.channel(row) for row in self.graph.rows_of([Kind.REQUEST]).tolist())

    def logs(self):
        """Return the text, level, time and enclosing span of every log line."""
        graph = self.graph
        return sorted(
            (graph.text(row), graph.key(row), graph.wall_ns(row), self.name(call) if (call := graph.call_of(row)) >= 0 else "")
            for row in graph.rows_of([Kind.LOG]).tolist()
        )  # fmt: skip

    def edges(self):
        """Return the channel of every edge, its two times in nanoseconds since 1970, and its two spans."""
        graph = self.graph
        rows = zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), graph.edge_channel.tolist(), strict=True)
        return sorted(
            (graph.strings[channel], graph.wall_ns(source), graph.wall_ns(target), self.at(source), self.at(target))
            for source, target, channel in rows
        )

    def at(self, row):
        call = self.graph.call_of(row)
        return self.name(call) if call >= 0 else ""

    def check(self):
        """Check the invariants of every imported graph."""
        graph = self.graph
        same = graph.strand[1:] == graph.strand[:-1]
        assert (np.diff(graph.ts)[same] >= 0).all(), "times descend along a strand"
        assert len(graph.calls.enter) == self.read.spans
        assert self.read.origins[0].format == "vector-clock" or (graph.calls.exit >= 0).all()
        assert (np.bincount(graph.kind, minlength=256)[Kind.LOG]) == self.read.logs
        bounds = [(strand.start, strand.stop) for strand in graph.strands]
        assert [start for start, _ in bounds[1:]] == [stop for _, stop in bounds[:-1]]
        assert all(stop > start for start, stop in bounds)
        assert set(graph.edge_kind.tolist()) <= set(map(int, EdgeKind))
        return self


@pytest.fixture
def import_trace(tmp_path):
    """Return a function that imports contents (objects are written as JSON) or paths."""

    def imported(*contents, format_="auto", pattern=""):
        paths = []
        for number, content in enumerate(contents):
            path = content
            if not isinstance(content, Path):
                path = tmp_path / f"trace{number}"
                data = content if isinstance(content, bytes | str) else json.dumps(content)
                path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "replace"))
            paths.append(path)
        return ImportedTrace(read_files(INFO, paths, format_, pattern)).check()

    return imported
