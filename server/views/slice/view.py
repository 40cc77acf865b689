"""The slice view: the causes of an event (or its effects) as a graph that fits a screen, with the chain of causes in
it.

Invariant: an answer has at most `maxNodes` nodes; the roots, the chain and the critical path are omitted last, and
omissions are counted.
"""

from __future__ import annotations

import time

import numpy as np

from clew.graph.model.gaps import touching
from clew.graph.model.levels import level_names
from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.causes.why import why
from clew.graph.ops.slicing.interval import Slice, slice_events
from clew.graph.ops.slicing.two_way import Part
from clew.graph.ops.timing.critical_path import critical_path
from clew.server.protocol.views.slice import Numbers, SliceParams, SliceResult
from clew.server.session import answer_process
from clew.server.session.session import Session, Task, which_of
from clew.server.text.chain import chain_of
from clew.server.text.failed_test import with_failed_test
from clew.server.text.gaps import machines, missing, processes
from clew.server.views.answer import verdict
from clew.server.views.failed_test import failed_test
from clew.server.views.slice.events import draw_events
from clew.server.views.slice.labels import draw_labels
from clew.server.views.slice.model import Focus
from clew.server.views.target import Found, NothingFound, find_in_snapshot

MAX_NODES = 2000
"""More than any screen shows and any layout finishes in time."""
EVENT = "event"


def slice_view(session: Session, params: SliceParams, task: Task) -> SliceResult:
    """Large slices are drawn by a worker process."""
    if params.target.function is not None:
        # Finding its calls reads all calls of the run.
        return answer_process.answered(session, [params.run], task, _of_target, params)
    return _of_target(session, params, task, apart=True)


def _of_target(session: Session, params: SliceParams, task: Task, *, apart: bool = False) -> SliceResult:
    began = time.perf_counter_ns()
    try:
        found = find_in_snapshot(session, params.run, params.target, task, params.direction)
    except NothingFound as nothing:
        return _nothing(session, params, str(nothing), task)
    slice_ = _sliced(found, params, task)
    if apart and slice_.count >= answer_process.LARGE:
        which, start = which_of(found.run), (found.events, found.title, found.matches, found.reasons, found.test)
        return answer_process.answered(session, [which], task, _of_start, which, start, params)
    return _drawn(session, found, slice_, params, task, began=began)


def _of_start(
    session: Session,
    which: str,
    start: tuple[tuple[int, ...], str, int, tuple[str, ...], str],
    params: SliceParams,
    task: Task,
) -> SliceResult:
    """`start` is the target's data."""
    began = time.perf_counter_ns()
    found = Found(session.open(which, task), *start)
    return _drawn(session, found, _sliced(found, params, task), params, task, began=began)


def _sliced(found: Found, params: SliceParams, task: Task) -> Slice:
    task.phase("slicing")
    with task.interruptible():
        slice_ = slice_events(found.run.graph, found.events, params.direction)
        # It is computed on demand: here, where the computation can be interrupted.
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
        answered = verdict(graph, found.event) if params.direction == "backward" else None
        if answered is not None and found.test:
            answered = with_failed_test(answered, failed_test(session, run, found.test, task))
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
        verdict=answered,
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
    """Return the message for a target with more events than the `shown` ones that the view starts from."""
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
