"""Details of one pattern: its times, one occurrence, the diagram of moves.

Invariant: an answer fits a screen, however often a pattern occurs.
"""

from __future__ import annotations

import numpy as np

from clew.compare.patterns.find import Pattern, Patterns
from clew.compare.patterns.occurrences import Occurrences, moments
from clew.compare.patterns.sequitur import I64
from clew.query.api import Run
from clew.records.errors import ClewError
from clew.server.protocol.shared import Location
from clew.server.protocol.views.pattern_detail import (
    PatternDiagram,
    PatternInside,
    PatternLane,
    PatternMove,
    PatternOccurrence,
    PatternOccurrenceParams,
    PatternOccurrenceResult,
    PatternState,
    PatternTimesParams,
    PatternTimesResult,
)
from clew.server.protocol.views.patterns import PatternsParams
from clew.server.session.session import Session, Task
from clew.server.views.patterns.view import chosen_of, patterns_of, places_of

MAX_PARTS = 1200
MAX_LANES = 16
MAX_STATES = 48
MAX_MOVES = 160


def pattern_times(session: Session, params: PatternTimesParams, task: Task) -> PatternTimesResult:
    """Raises `ClewError` for an unknown pattern and a window that ends before it begins."""
    run, found, chosen = _asked(session, params, task)
    task.phase("selecting the time range")
    with task.interruptible():
        strands = np.arange(len(found.activations.strands))
        begins, ends = found.activations.from_ns, found.activations.to_ns
        end_of_run = int(ends.max(initial=0)) + 1
        begin = max(0, int(params.fromNs))
        end = int(params.toNs) if params.toNs > 0 else end_of_run
        if end <= begin:
            raise ClewError(f"the time range ends ({end} ns) before it begins ({begin} ns)")
        most = max(1, min(params.maxParts, MAX_PARTS))
        time = int(np.clip(np.minimum(ends, end) - np.maximum(begins, begin), 0, None).sum())
        window = moments(found.activations, strands, begin), moments(found.activations, strands, end)
        inside = []
        for row in found.rows:
            of = found.timed(row.number)
            count, ns = int(of.touching(*window).sum()), int((of.spent(window[1]) - of.spent(window[0])).sum())
            if count:
                inside.append(PatternInside(row.id, count, float(ns), ns / time if time else 0.0))
        if chosen is None:
            return PatternTimesResult(session.ref(run), "", float(begin), float(end), float(end_of_run), [], [], 0, [])
        of = found.timed(chosen.number)
        count_of, ns_of = of.touching(*window), of.spent(window[1]) - of.spent(window[0])
        there = np.flatnonzero(count_of)
        order = there[np.lexsort((there, -count_of[there], -ns_of[there]))]
        edges = _edges(begin, end, most)
        return PatternTimesResult(
            run=session.ref(run),
            pattern=chosen.id,
            fromNs=float(begin),
            toNs=float(end),
            endNs=float(end_of_run),
            whole=of.all_bins(_edges(0, end_of_run, most)).astype(float).tolist(),
            lanes=[_lane(run, of, at, int(count_of[at]), edges) for at in order[:MAX_LANES].tolist()],
            hiddenLanes=max(0, len(order) - MAX_LANES),
            inside=inside,
        )


def pattern_occurrence(session: Session, params: PatternOccurrenceParams, task: Task) -> PatternOccurrenceResult:
    """Raises `ClewError` for an unknown pattern, occurrence or strand."""
    run, found, chosen = _asked(session, params, task)
    task.phase("searching the pattern")
    with task.interruptible():
        if chosen is None:
            return PatternOccurrenceResult(session.ref(run), "", 0)
        of = found.timed(chosen.number)
        number: int | None = params.number
        if params.number < 0:
            strands = found.activations.strands
            if params.strandNumber not in strands:
                raise ClewError(f"there is no thread or task number {params.strandNumber} in the selection")
            number = of.nearest(strands.index(params.strandNumber), int(params.atNs))
        if number is None:
            return PatternOccurrenceResult(session.ref(run), chosen.id, len(of))
        if number >= len(of):
            raise ClewError(f"there is no occurrence {number + 1:,}; it occurs {len(of):,} times")
        one = of.occurrence(number)
    strand = found.activations.strands[one.strand]
    site = run.graph.sites[int(run.graph.at("site", one.event))]
    return PatternOccurrenceResult(
        run=session.ref(run),
        pattern=chosen.id,
        count=len(of),
        occurrence=PatternOccurrence(
            number=one.number,
            strand=strand,
            process=_process(run, strand),
            name=run.graph.strands[strand].name,
            fromNs=float(one.begin_ns),
            toNs=float(one.end_ns),
            event=one.event,
            location=Location(site.file, site.line) if site.file else None,
        ),
    )


def pattern_diagram(session: Session, params: PatternsParams, task: Task) -> PatternDiagram:
    """Raises `ClewError` for an unknown pattern."""
    run, found, chosen = _asked(session, params, task)
    task.phase("counting moves")
    with task.interruptible():
        drawn = found.diagram
        nothing = np.zeros(0, np.int64)
        states, moves = drawn.inside(*(found.occurrences(chosen.number) if chosen else (nothing, nothing)))
    places = places_of(run.graph) if params.level == "function" else {}
    took = np.array([state.ns for state in drawn.states], np.int64)
    longest = np.lexsort((np.arange(len(took)), -took, states == 0))[:MAX_STATES]
    # In the order of the first occurrences, so that most edges of the diagram point the same way.
    longest = longest[np.argsort(drawn.first[longest])]
    place = np.full(len(took), -1, np.int64)
    place[longest] = np.arange(len(longest))
    shown = np.flatnonzero((place[drawn.source] >= 0) & (place[drawn.target] >= 0))
    ranked = shown[np.lexsort((shown, -drawn.times[shown], moves[shown] == 0))[:MAX_MOVES]]
    span = found.span_ns
    return PatternDiagram(
        run=session.ref(run),
        pattern=chosen.id if chosen else "",
        states=[
            PatternState(
                label=state.label,
                what=state.what,
                count=state.times,
                inside=int(states[number]),
                ns=float(state.ns),
                share=state.ns / span if span else 0.0,
                location=places.get(state.label),
            )
            for number, state in ((number, drawn.states[number]) for number in longest.tolist())
        ],
        hiddenStates=len(took) - len(longest),
        # In the order of their ends, whichever pattern is selected, so that they are drawn alike.
        moves=[
            PatternMove(
                int(place[drawn.source[move]]), int(place[drawn.target[move]]), int(drawn.times[move]), int(moves[move])
            )
            for move in np.sort(ranked).tolist()
        ],
        hiddenMoves=len(drawn.times) - len(ranked),
    )


def _asked(session: Session, params: PatternsParams, task: Task) -> tuple[Run, Patterns, Pattern | None]:
    run = session.snapshot(params.run, task)
    found = patterns_of(run, params, task)
    return run, found, chosen_of(found, params.pattern)


def _edges(begin: int, end: int, most: int) -> I64:
    """Return whole nanoseconds that divide a window into equal, non-empty ranges."""
    parts = min(most, end - begin)
    return np.array([begin + (end - begin) * part // parts for part in range(parts + 1)], np.int64)


def _lane(run: Run, of: Occurrences, at: int, count: int, edges: I64) -> PatternLane:
    strand = of.of.strands[at]
    begun, ns = of.bins(at, edges)
    return PatternLane(
        strand=strand,
        process=_process(run, strand),
        name=run.graph.strands[strand].name,
        count=count,
        begun=begun.tolist(),
        ns=ns.astype(float).tolist(),
    )


def _process(run: Run, strand: int) -> str:
    return run.graph.processes[run.graph.strands[strand].process].name
