"""What each function of a run cost, ready to be asked by file, by site and by neighbour."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from clew.graph.ops.statistics import FunctionStatistics, function_statistics
from clew.server.files import same_file_key

if TYPE_CHECKING:
    from pathlib import Path

    from clew.graph.model import ExecutionGraph
    from clew.graph.query import Run


@dataclass(frozen=True)
class Function:
    """A recorded code location and its figures; times in nanoseconds."""

    site: int
    label: str
    qualname: str
    file: str
    line: int
    end_line: int
    calls: int
    counted: int
    """Calls beyond these that were only counted."""
    total_ns: int
    self_ns: int
    waiting_ns: int
    p50_ns: int
    p95_ns: int
    errors: int
    share: float
    """Of the self time of all functions of the run."""


@dataclass(frozen=True)
class FunctionTable:
    graph: ExecutionGraph = field(repr=False)
    folder: Path
    """The run's."""
    run: str
    """The run's id."""
    name: str
    by_site: dict[int, Function]
    _by_file: dict[str, list[Function]] = field(repr=False)

    @classmethod
    def of(cls, run: Run) -> FunctionTable:
        graph = run.graph
        found = function_statistics(graph)
        everything = sum(each.self_ns for each in found.values())
        by_site = {site: _function(graph, each, everything) for site, each in found.items()}
        by_file: dict[str, list[Function]] = {}
        for function in sorted(by_site.values(), key=lambda function: function.line):
            if function.file:
                by_file.setdefault(same_file_key(function.file), []).append(function)
        return cls(graph, run.folder, run.info.id, run.info.name, by_site, by_file)

    def in_file(self, path: str) -> list[Function]:
        """By line."""
        return self._by_file.get(same_file_key(path), [])

    def callers(self, function: Function) -> list[tuple[str, int]]:
        """(label, calls of `function`) of the functions that called it, the most frequent first."""
        calls = self.graph.calls
        mine = self.graph.site[calls.enter] == function.site
        caller = calls.caller[mine]
        return self._counted(self.graph.site[caller[caller >= 0]])

    def callees(self, function: Function) -> list[tuple[str, int]]:
        """(label, calls) of the functions that it called, the most frequent first."""
        calls = self.graph.calls
        caller_site = np.where(calls.caller >= 0, self.graph.site[calls.caller], 0)
        return self._counted(self.graph.site[calls.enter[caller_site == function.site]])

    def _counted(self, sites: np.ndarray) -> list[tuple[str, int]]:
        numbers: Counter[str] = Counter()
        for site, count in zip(*np.unique(sites, return_counts=True), strict=True):
            numbers[self.graph.sites[int(site)].label] += int(count)
        return numbers.most_common()


def _function(graph: ExecutionGraph, each: FunctionStatistics, everything: int) -> Function:
    site = graph.sites[each.site]
    return Function(
        site=each.site,
        label=each.label,
        qualname=site.qualname,
        file=site.file,
        line=site.line,
        end_line=site.end_line,
        calls=each.calls,
        counted=each.counted,
        total_ns=each.total_ns,
        self_ns=each.self_ns,
        waiting_ns=each.waiting_ns,
        p50_ns=each.p50_ns,
        p95_ns=each.p95_ns,
        errors=each.errors,
        share=each.self_ns / everything if everything else 0.0,
    )
