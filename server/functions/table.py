"""Costs of each function of a run, indexed by file, by site and by neighbour."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.server.locations.ast_call_lines import Callee
from clew.server.locations.paths import same_file_key

if TYPE_CHECKING:
    from pathlib import Path

    from clew.graph.model.graph import ExecutionGraph
    from clew.graph.ops.profile.functions import Link, Profile, Profiles
    from clew.query.api import Run


@dataclass(frozen=True)
class Function:
    """A recorded code location and its statistics; times are in nanoseconds."""

    site: int
    label: str
    qualname: str
    file: str
    line: int
    end_line: int
    calls: int
    counted: int
    """Additional calls that were only counted."""
    total_ns: int
    self_ns: int
    waiting_ns: int
    p50_ns: int
    p95_ns: int
    errors: int
    share: float
    """Share of the self time of all functions of the run."""
    profile: Profile = field(repr=False)


@dataclass(frozen=True)
class FunctionTable:
    graph: ExecutionGraph = field(repr=False)
    folder: Path
    """The folder of the run."""
    run: str
    """The run's id."""
    name: str
    by_site: dict[int, Function]
    links: tuple[Link, ...] = field(repr=False)
    """Caller-callee pairs, the most frequent first."""
    _by_file: dict[str, list[Function]] = field(repr=False)

    @classmethod
    def of(cls, run: Run, profiles: Profiles) -> FunctionTable:
        graph = run.graph
        everything = sum(each.statistics.self_ns for each in profiles.by_site.values())
        by_site = {site: _function(graph, each, everything) for site, each in profiles.by_site.items()}
        by_file: dict[str, list[Function]] = {}
        for function in sorted(by_site.values(), key=lambda function: function.line):
            if function.file:
                by_file.setdefault(same_file_key(function.file), []).append(function)
        return cls(graph, run.folder, run.info.id, run.info.name, by_site, profiles.links, by_file)

    def find(self, site: int, label: str) -> Function | None:
        """Return the function with this site number and label. The sites of a live run get new numbers when more of it
        is read."""
        found = self.by_site.get(site)
        if found is not None and found.label == label:
            return found
        return next((function for function in self.by_site.values() if function.label == label), None)

    def in_file(self, path: str) -> list[Function]:
        """Return the functions of a file, ordered by line."""
        return self._by_file.get(same_file_key(path), [])

    def callers(self, function: Function) -> list[Link]:
        """Return the callers, the most frequent first."""
        return [link for link in self.links if link.callee == function.site]

    def callees(self, function: Function) -> list[Link]:
        """Return the callees, the most frequent first."""
        return [link for link in self.links if link.caller == function.site]

    def callee(self, site: int) -> Callee:
        return Callee(self.graph.sites[site].module, self.graph.sites[site].qualname)

    def label(self, site: int) -> str:
        return self.graph.sites[site].label


def _function(graph: ExecutionGraph, profile: Profile, everything: int) -> Function:
    each = profile.statistics
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
        profile=profile,
    )
