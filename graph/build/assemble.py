"""Assembles an execution graph from columns: the steps that recorded runs and imported files share.

The caller passes events strand by strand, with their edges and the tables that their numbers refer to. Nesting, regions, waits
and times are derived from them. Invariant: this module does not depend on the source of the events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_nesting import Nesting, nest
from clew.graph.build.call_times import call_times, idle_gaps, mark_waits
from clew.graph.build.regions import split
from clew.graph.build.request_names import rename_requests
from clew.graph.model.array_utils import lengths
from clew.graph.model.edge_order import Joined, excluding, sort_edges
from clew.graph.model.graph import Calls, ExecutionGraph, Extensions, Gap, Process, Regions, Rows, Site, Strand
from clew.graph.model.machines import Machine, in_words
from clew.graph.model.structure_plane import Structure
from clew.records.errors import Problem
from clew.records.plan.plan import Level
from clew.records.read.parallel import both
from clew.records.run.directory import RunInfo

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Events:
    """The columns of events, one row each, strand after strand, within a strand in the order of execution."""

    ts: I64
    """Times in nanoseconds since the run's start, which never decrease within a strand."""
    kind: npt.NDArray[np.uint8]
    site: npt.NDArray[np.uint32]
    ext: npt.NDArray[np.int32]
    """Rows in `extensions`, -1 for none."""
    sequence: Rows
    """Numbers that are consecutive for consecutive events of a thread."""
    strand_start: I64
    """The rows of strand s are `range(strand_start[s], strand_start[s + 1])`."""
    extensions: Extensions

    def channels(self, rows: I64) -> npt.NDArray[np.uint32]:
        """Return the channels of some events, 0 for none."""
        return np.append(self.extensions.channel, np.uint32(0))[self.ext[rows]]


@dataclass(frozen=True)
class Tables:
    """The tables that the numbers in the columns refer to."""

    strings: list[str]
    sites: list[Site]
    strands: list[Strand]
    processes: list[Process]
    machines: tuple[Machine, ...] = ()
    levels: tuple[Level, ...] = ()
    counted: Mapping[int, int] = field(default_factory=dict)
    lost: tuple[Gap, ...] = ()


@dataclass(frozen=True)
class Scopes:
    """The calls and regions of the events."""

    nesting: Nesting
    region: npt.NDArray[np.uint32]
    regions: Regions


def scopes_of(events: Events) -> Scopes:
    """Return the calls and regions of the events, which do not depend on edges."""
    nesting = nest(events.kind, events.site, events.strand_start)
    return Scopes(nesting, *split(events.kind, events.ext, events.extensions.channel, nesting, events.strand_start))


def assemble(
    info: RunInfo, events: Events, scopes: Scopes, edges: Joined, tables: Tables, *, waited: Sequence[int] | I64 = ()
) -> tuple[ExecutionGraph, list[Problem]]:
    """Assemble the graph. Return it with problems of its clocks and calls.

    `waited` are rows after which the strand waited without a recorded edge.
    """
    nesting, region, regions = scopes.nesting, scopes.region, scopes.regions
    extensions = rename_requests(events.kind, events.ext, events.extensions, region, regions)
    strand_start = events.strand_start
    strand = np.repeat(np.arange(len(strand_start) - 1, dtype=np.uint32), lengths(strand_start))
    ts, kind, site = events.ts, events.kind, events.site
    problems = []
    corrected = [machine for machine in tables.machines if machine.offset_ns or machine.rate]
    if corrected:
        most = max(abs(machine.offset_ns) for machine in corrected)
        what = (
            f"the clocks of {len(corrected)} of {len(tables.machines)} machines were corrected from messages between them, "
            f"by up to {in_words(most)}; `clew runs {info.name or info.id}` lists them"
        )
        problems.append(Problem(info.id, what))
    if nesting.unmatched:
        problems.append(Problem(info.id, f"{nesting.unmatched} ends of calls have no matching beginning"))

    edges, channel = sort_edges(edges, region, len(regions.strand), events.ext, events.extensions.channel)

    def timed() -> tuple[Calls, Mask]:
        adapters = np.array([site.is_adapter for site in tables.sites], bool)
        idle = idle_gaps(kind, site, strand_start, events.sequence, by_loop=adapters)
        mark_waits(idle, ts, kind, strand, edges)
        idle[np.asarray(waited, np.int64)] = True
        return call_times(nesting, ts, strand, strand_start, idle), idle

    def structured() -> Structure:
        excluded = excluding(edges.kind, channel, tables.strings)
        return Structure.of(region=region, regions=len(regions), src=edges.src, dst=edges.dst, excluded=excluded, ts=ts)

    structure, (calls, idle) = both(structured, timed)
    rows = np.int32 if len(ts) < 1 << 31 else np.int64
    graph = ExecutionGraph(
        info=info,
        ts=ts,
        kind=kind,
        site=site,
        strand=strand,
        region=region,
        ext=events.ext,
        call=nesting.call.astype(rows, copy=False),
        inner=nesting.inner.astype(rows, copy=False),
        idle=idle,
        edge_src=edges.src,
        edge_dst=edges.dst,
        edge_kind=edges.kind,
        edge_channel=channel,
        extensions=extensions,
        regions=regions,
        calls=calls,
        strings=tables.strings,
        sites=tables.sites,
        strands=tables.strands,
        processes=tables.processes,
        machines=tables.machines,
        levels=tables.levels,
        counted=dict(tables.counted),
        lost=tables.lost,
        made_structure=structure,
    )
    return graph, problems
