"""The patterns view: repeated calls of threads and tasks, their times and their order."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np

from clew.compare.patterns.find import Pattern, Patterns, Thresholds, find_patterns
from clew.compare.patterns.sequitur import I64
from clew.compare.patterns.worker_process import patterns_in_worker
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.levels import RUNTIME, level_names
from clew.query.api import Run
from clew.query.operators.answers.strands import strands_named
from clew.records.errors import ClewError
from clew.server.protocol.shared import Location
from clew.server.protocol.views.patterns import (
    PatternLine,
    PatternRow,
    PatternsParams,
    PatternsResult,
    PatternStrand,
    PatternStretch,
    PatternSuccession,
)
from clew.server.session.session import Session, Task
from clew.server.views.slice.view import EVENT
from clew.server.views.target import nothing_recorded

MAX_PATTERNS = 1000
MAX_STRETCHES = 2000
MAX_LINES = 60
MAX_STRANDS = 200
MAX_SUCCESSIONS = 400

_Question = tuple[str, str, int, int, int, int]
_LAST: WeakKeyDictionary[Run, tuple[_Question, Patterns]] = WeakKeyDictionary()
"""The last search of each open run, so that details of its patterns are fast."""


def patterns_view(session: Session, params: PatternsParams, task: Task) -> PatternsResult:
    """Raises `ClewError` for an unknown strand, pattern or level."""
    run = session.snapshot(params.run, task)
    found = patterns_of(run, params, task)
    task.phase("selecting the time range")
    graph, of = run.graph, found.activations
    chosen = chosen_of(found, params.pattern)
    with task.interruptible():
        where = _Where(found, params)
    places = places_of(graph) if params.level == "function" else {}
    ids = [row.id for row in found.rows]
    message = ""
    if not of.events:
        message = nothing_recorded(run)
    elif not len(of):
        message = "No calls were recorded. Select functions in a spec, or use `clew run` without one."
    elif not found.rows:
        message = "Lower the minimum size (`clew patterns --min-calls`) to find smaller patterns."
    return PatternsResult(
        run=session.ref(run),
        level=params.level,
        levels=[name for name in level_names(graph) if name not in (*RUNTIME, EVENT)],
        sentence=found.sentence(),
        explanation=found.explain(),
        strands=where.strands,
        hiddenStrands=len(of.strands) - len(where.strands),
        events=of.events,
        spanNs=float(found.span_ns),
        patterns=[_row(found, row, where, places) for row in found.rows],
        hiddenPatterns=found.found - len(found.rows),
        successions=[
            PatternSuccession(ids[step.before], ids[step.after], step.times)
            for step in found.successions[:MAX_SUCCESSIONS]
        ],
        pattern=chosen.id if chosen else "",
        fromNs=float(where.begin),
        toNs=float(where.end),
        message=message,
    )


def patterns_of(run: Run, params: PatternsParams, task: Task) -> Patterns:
    """Raises `ClewError` for an unknown strand or level."""
    top = max(1, min(params.maxPatterns, MAX_PATTERNS))
    question = (params.strand, params.level, params.calls, params.times, params.widest, top)
    known = _LAST.get(run)
    if known is not None and known[0] == question:
        return known[1]
    task.phase("finding patterns")
    strands = strands_named(run.graph, params.strand)
    thresholds = Thresholds(calls=params.calls, times=params.times, widest=params.widest, top=top)
    found = patterns_in_worker(run, strands, params.level, thresholds, task)
    if found is None:
        with task.interruptible():
            found = find_patterns(run.graph, strands, params.level, thresholds)
    _LAST[run] = question, found
    return found


def chosen_of(found: Patterns, which: str) -> Pattern | None:
    """Return the requested pattern, by default the first. Raises `ClewError` for an unknown one."""
    if not which:
        return next(iter(found.rows), None)
    for row in found.rows:
        if row.id == which:
            return row
    raise ClewError(f"there is no pattern {which!r} among the first {len(found.rows)}; request more patterns")


class _Where:
    """The times of patterns, as far as a view shows them."""

    def __init__(self, found: Patterns, params: PatternsParams) -> None:
        self.found = found
        of, graph = found.activations, found.graph
        self.begin = max(0, int(params.fromNs))
        self.end = int(params.toNs) if params.toNs > 0 else int(of.to_ns.max(initial=0))
        if self.end < self.begin:
            raise ClewError(f"the time range ends ({self.end} ns) before it begins ({self.begin} ns)")
        self.most = max(1, min(params.maxStretches, MAX_STRETCHES))
        longest = np.lexsort((np.arange(len(of.strands)), -of.span_ns))[:MAX_STRANDS]
        self.number = np.full(len(of.strands), -1, np.int64)
        self.number[longest] = np.arange(len(longest))
        self.strands = [_strand(graph, of.strands[at]) for at in longest.tolist()]

    def stretches(self, row: Pattern) -> list[PatternStretch]:
        """Return the stretches, strand by strand; near ones are merged if there would be too many."""
        of = self.found.activations
        first, last = self.found.occurrences(row.number)
        begin, end, strand = of.begin_ns[first], of.end_ns[last], self.number[of.strand_of[first]]
        shown = (end >= self.begin) & (begin <= self.end) & (strand >= 0)
        begin, end, strand = begin[shown], end[shown], strand[shown]
        order = np.lexsort((begin, strand))
        begin, end, strand = begin[order], end[order], strand[order]
        near = max(1, (self.end - self.begin) // self.most) if len(begin) > self.most else -1
        while True:
            groups = _groups(begin, end, strand, near)
            if len(groups) <= self.most or near > self.end - self.begin:
                break
            near *= 2
        bounds = np.append(groups, len(begin))
        return [
            PatternStretch(float(begin[low]), float(end[low:high].max()), int(high - low), int(strand[low]))
            for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        ][: self.most]


def _groups(begin: I64, end: I64, strand: I64, near: int) -> I64:
    """Return the indices where stretches begin."""
    if not len(begin):
        return np.zeros(0, np.int64)
    new = (strand[1:] != strand[:-1]) | (begin[1:] - end[:-1] > near)
    return np.concatenate(([0], np.flatnonzero(new) + 1))


def _events(graph: ExecutionGraph, strand: int) -> int:
    return graph.strands[strand].stop - graph.strands[strand].start


def _strand(graph: ExecutionGraph, number: int) -> PatternStrand:
    strand = graph.strands[number]
    there = _events(graph, number)
    return PatternStrand(
        process=graph.processes[strand.process].name,
        strand=strand.name,
        events=there,
        fromNs=float(graph.at("ts", strand.start)) if there else 0.0,
        toNs=float(graph.at("ts", strand.stop - 1)) if there else 0.0,
    )


def _row(found: Patterns, row: Pattern, where: _Where, places: dict[str, Location]) -> PatternRow:
    lines = found.outline(row.number, MAX_LINES + 1)
    outline = [
        PatternLine(
            line.depth, line.label, line.repeats, line.calls, line.resumed, line.end, line.mean_ns, line.event,
            places.get(line.label),
        )
        for line in lines[:MAX_LINES]
    ]  # fmt: skip
    return PatternRow(
        id=row.id,
        title=row.title,
        calls=row.calls,
        width=row.width,
        count=row.count,
        totalNs=float(row.total_ns),
        selfNs=float(row.self_ns),
        meanNs=row.mean_ns,
        share=row.share,
        strands=row.strands,
        firstNs=float(row.first_ns),
        lastNs=float(row.last_ns),
        firstEvent=row.first_event,
        raised=row.raised,
        outline=outline,
        hiddenLines=len(lines) > MAX_LINES,
        stretches=where.stretches(row),
        location=places.get(lines[0].label),
    )


def places_of(graph: ExecutionGraph) -> dict[str, Location]:
    """Return the locations of functions by label."""
    return {
        site.label: Location(site.file, site.line)
        for site in graph.sites
        if site.file and not site.is_adapter and site.kind != "log"
    }
