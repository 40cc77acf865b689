"""C kernels stop when an exception is thrown into their thread, and the next calls give whole answers."""

import ctypes
import operator
import threading
from collections import deque
from functools import partial

import numpy as np
import pytest

from clew.graph.kernel import _ingest as kernels
from clew.graph.ops.aggregation.aggregate import aggregate
from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.critical_path import critical_path
from clew.records.format.event import Kind


class Thrown(BaseException):
    pass


def interrupted(walk, *given):
    """Run a kernel with an exception pending; all in C, so that the interpreter cannot raise it first."""
    throw = partial(
        ctypes.pythonapi.PyThreadState_SetAsyncExc,
        ctypes.c_ulong(threading.get_ident()),
        ctypes.py_object(Thrown),
    )
    with pytest.raises(Thrown):
        deque(map(operator.call, [throw, partial(walk, *given)]))


def test_nest_kernel_when_cancelled_leaves_columns_unchanged():
    events = 10
    kind, site = np.full(events, Kind.ENTER, np.uint8), np.zeros(events, np.uint32)
    call, inner = np.full(events, 7, np.int32), np.full(events, 7, np.int32)
    enter, exits, caller = (np.full(events, 7, np.int64) for _ in range(3))
    given = kind, site, np.array([0, events]), False, call, inner, enter, exits, caller, np.zeros((0, 2), np.int64)
    interrupted(kernels.nest, *given)
    assert (call == 7).all() and (enter == 7).all()
    assert kernels.nest(*given) == (events, 0, 0)


def test_durations_kernel_when_cancelled_adds_no_times():
    rows, wide = np.zeros(4, np.int64), np.array([0])
    ts = np.array([0, 1, 2, 9])
    total, own, waiting = (np.zeros(1, np.int64) for _ in range(3))
    given = (
        rows,
        rows,
        True,
        wide,
        np.array([3]),
        ts,
        np.zeros(4, np.uint8),
        np.array([0, 4]),
        np.zeros((0, 2), np.int64),
    )
    interrupted(kernels.durations, *given, total, own, waiting)
    assert own.tolist() == [0]
    kernels.durations(*given, total, own, waiting)
    assert own.tolist() == total.tolist() == [9]


class Spy:
    """Wrap a plane and record the arguments of its calls."""

    def __init__(self, plane):
        self.plane, self.asked = plane, {}

    def __getattr__(self, name):
        def ask(*given):
            self.asked[name] = given
            return getattr(self.plane, name)(*given)

        return ask


def test_kernel_after_a_cancelled_call_gives_the_whole_answer(new_run, monkeypatch):
    run = new_run()
    process = run.process()
    for number in range(3):
        thread = process.thread(f"t{number}")
        for _ in range(20):
            thread.receive(number - 1)
            thread.enter("f")
            thread.log("said")
            thread.exit("f")
            thread.send(number)
    graph = run.graph()
    structure = graph.structure
    spy = Spy(structure.plane)
    monkeypatch.setitem(vars(structure), "plane", spy)

    def answers():
        found = slice_events(graph, [len(graph) - 1])
        nodes = aggregate(found, "function")
        return (
            [(node.label, node.events, node.self_ns) for node in nodes.nodes],
            critical_path(graph, found).total_ns,
        )

    first = answers()
    assert {"gather", "path"} <= set(spy.asked)
    for name in ("gather", "path"):
        interrupted(getattr(spy.plane, name), *spy.asked[name])
        assert answers() == first
