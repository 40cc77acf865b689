"""The slice view: what led to an event (or followed from it) as a graph that fits a screen, with the chain of causes in it.

Invariant: at most `maxNodes` nodes; the roots, the chain and the critical path are left out last, and what was left out is
counted.
"""

from __future__ import annotations

import time

import numpy as np

from clew.graph.gaps import touching
from clew.graph.levels import level_names
from clew.graph.ops.aggregate import aggregate
from clew.graph.ops.critical_path import critical_path
from clew.graph.ops.parts import Part
from clew.graph.ops.slice import Slice, slice_events
from clew.graph.ops.walk import why
from clew.server import aside
from clew.server.panel.chain import chain_of
from clew.server.panel.draw_events import draw_events
from clew.server.panel.draw_labels import draw_labels
from clew.server.panel.drawing import Focus
from clew.server.panel.missing import machines, missing, processes
from clew.server.panel.target import Found, NothingFound, find_kept
from clew.server.protocol import Numbers, SliceParams, SliceResult
from clew.server.session import Session, Task, which_of

MAX_NODES = 2000
"""More than any screen shows and any layout finishes in time."""
EVENT = "event"


def slice_view(session: Session, params: SliceParams, task: Task) -> SliceResult:
    """What is large is drawn by a process of its own."""
    if params.target.function is not None:
        # Its calls are found by a look at all calls of the run.
        return aside.answered(session, [params.run], task, _of_target, params)
    return _of_target(session, params, task, apart=True)


def _of_target(session: Session, params: SliceParams, task: Task, *, apart: bool = False) -> SliceResult:
    began = time.perf_counter_ns()
    try:
        found = find_kept(session, params.run, params.target, task, params.direction)
    except NothingFound as nothing:
        return _nothing(session, params, str(nothing), task)
    slice_ = _sliced(found, params, task)
    if apart and slice_.count >= aside.LARGE:
        which, start = which_of(found.run), (found.events, found.title, found.matches)
        return aside.answered(session, [which], task, _of_start, which, start, params)
    return _drawn(session, found, slice_, params, task, began=began)


def _of_start(
    session: Session, which: str, start: tuple[tuple[int, ...], str, int], params: SliceParams, task: Task
) -> SliceResult:
    """`start` is what was found of the target."""
    began = time.perf_counter_ns()
    found = Found(session.open(which, task), *start)
    return _drawn(session, found, _sliced(found, params, task), params, task, began=began)


def _sliced(found: Found, params: SliceParams, task: Task) -> Slice:
    task.phase("slicing")
    with task.interruptible():
        slice_ = slice_events(found.run.graph, found.events, params.direction)
        # It is found when somebody asks: here, where that can be interrupted.
        _ = slice_.reached
    return slice_


def _drawn(
    session: Session, found: Found, slice_: Slice, params: SliceParams, task: Task, *, began: int
) -> SliceResult:
    run, graph = found.run, found.run.graph
    limit = max(1, min(params.maxNodes, MAX_NODES))
    task.phase("walking back")
    with task.interruptible():
        steps = why(graph, found.event)
        focus = Focus(found.events, steps, critical_path(graph, slice_))
    task.phase("aggregating")
    with task.interruptible():
        gone = missing(graph, touching(graph, slice_.holds))
        if params.level == EVENT:
            drawing = draw_events(slice_, focus, gone, limit)
        else:
            drawing = draw_labels(aggregate(slice_, params.level).by_label(), slice_, focus, gone, limit)
    shown = {node.id for node in drawing.nodes}

    def shown_node(event: int) -> str:
        node = drawing.node_of(event)
        return node if node in shown else ""

    chain = chain_of(graph, steps, shown_node)
    return SliceResult(
        run=session.ref(run),
        title=found.title,
        direction=params.direction,
        level=params.level,
        levels=level_names(graph),
        nodes=drawing.nodes,
        edges=drawing.edges,
        chain=chain,
        numbers=numbers(slice_, time.perf_counter_ns() - began),
        hiddenNodes=drawing.hidden,
        message=several(found),
        gaps=gone.shown,
        hiddenGaps=gone.hidden,
        processes=processes(graph, {*(node.process for node in drawing.nodes), *(step.process for step in chain)}),
        machines=machines(graph),
    )


def numbers(slice_: Slice | Part, elapsed_ns: int) -> Numbers:
    graph, events = slice_.graph, slice_.events()
    strands = np.unique(graph.strand[events])
    return Numbers(
        events=len(events),
        eventsInRun=len(graph),
        edges=len(slice_.edges()),
        processes=len(np.unique(graph.strand_process[strands])),
        strands=len(strands),
        elapsedMs=elapsed_ns / 1e6,
    )


def several(found: Found, shown: int | None = None) -> str:
    """What to say when the target meant more than the `shown` events that the view starts from."""
    if found.matches <= (len(found.events) if shown is None else shown):
        return ""
    return f"{found.matches:,} match; this is the newest."


def _nothing(session: Session, params: SliceParams, message: str, task: Task) -> SliceResult:
    run = session.open(params.run, task)
    return SliceResult(
        run=session.ref(run),
        title="",
        direction=params.direction,
        level=params.level,
        levels=level_names(run.graph),
        nodes=[],
        edges=[],
        chain=[],
        numbers=Numbers(0, len(run.graph), 0, 0, 0, 0.0),
        hiddenNodes=0,
        message=message[:1].upper() + message[1:],
    )
