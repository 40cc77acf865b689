"""Find the tasks that `asyncio.wait_for` makes, up to Python 3.11, to run a coroutine of a library such as `lock.acquire()`.

Such a task acts for the one that awaits it: what it waits for is what the other one waits for, and what it takes is the
other one's when it ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.facts.columns.records import Records
from clew.graph.ops.facts.columns.views import I64, Mask
from clew.graph.ops.facts.work.served_work import askers
from clew.records.format.event import Kind
from clew.records.format.facts import Wait

AUTOMATIC_NAME = re.compile(r"Task-\d+")
_MOST_ROWS = 64
"""A task with more rows does more than one such call."""


@dataclass(frozen=True)
class Helpers:
    """The helpers of a run."""

    acts_for: dict[int, int]
    """The strand that each helper acts for, by the helper."""
    first: I64
    last: I64
    """The range of the WAITs by which others wait for the strand of each WAIT, by their places; empty for none."""
    by_thread: Mask
    """Whether a thread waits for each strand, and so knows how the wait ended."""

    @classmethod
    def of(cls, graph: ExecutionGraph, begins: Records[Wait], strand_with_key: Callable[[int, int], int]) -> Helpers:
        """Find the helpers among the tasks that waits are for."""
        first, last = np.zeros(len(begins), np.int64), np.zeros(len(begins), np.int64)
        target = begins.number("target")
        found: dict[int, int] = {}
        inside = _in_wait_for(begins, np.flatnonzero(target > 0)).tolist()
        shared = _awaited_by_several(begins, np.flatnonzero(target > 0)) if inside else set()
        for place in inside:
            strand, awaited = int(begins.strand[place]), (int(begins.process[place]), int(target[place]))
            helper = strand_with_key(*awaited) if awaited not in shared else -1
            if helper >= 0 and helper != strand and (helper in found or _runs_only_library(graph, helper)):
                first[place], last[place] = np.searchsorted(begins.strand, (helper, helper + 1))
                found[helper] = strand
        for helper, strand in found.items():
            caller, seen = strand, {helper}
            while caller in found and caller not in seen:  # a helper may act for a helper
                seen.add(caller)
                caller = found[caller]
            found[helper] = caller
        by_thread = np.zeros(len(begins), bool)
        for inner, asker in askers(graph, begins, begins, begins.contains('"capacity":')).items():
            first[asker.wait], last[asker.wait], by_thread[asker.wait] = inner, inner + 1, True
        return cls(found, first, last, by_thread)


def _awaited_by_several(begins: Records[Wait], places: I64) -> set[tuple[int, int]]:
    """Return the processes and keys of the tasks that several strands wait for: none of them made the task for itself."""
    first: dict[tuple[int, int], int] = {}
    columns = (begins.process[places], begins.number("target")[places], begins.strand[places])
    found = set()
    for process, key, strand in zip(*(column.tolist() for column in columns), strict=True):
        if first.setdefault((process, key), strand) != strand:
            found.add((process, key))
    return found


def _in_wait_for(begins: Records[Wait], places: I64) -> I64:
    """Return those WAIT records whose innermost frame is `asyncio.wait_for`."""
    # Records with equal stacks have the number of the first one; few contain a stack.
    stack = begins.number("stack")[places]
    process = begins.process[places]
    _pairs, first, inverse = np.unique(
        np.stack((process, stack.astype(np.int64))), axis=1, return_index=True, return_inverse=True
    )
    known = np.array([_is_wait_for(begins, int(places[at])) for at in first.tolist()], bool)
    chosen = known[inverse.reshape(-1)] if len(places) else np.zeros(0, bool)
    without = np.flatnonzero(stack == 0)
    chosen[without] = [_is_wait_for(begins, place) for place in places[without].tolist()]
    found: I64 = places[chosen]
    return found


def _is_wait_for(begins: Records[Wait], place: int) -> bool:
    at = begins.text(place).at
    return bool(at) and at[0].function == "wait_for" and at[0].file.endswith("asyncio/tasks.py")


def _runs_only_library(graph: ExecutionGraph, strand: int) -> bool:
    task = graph.strands[strand]
    short = task.stop - task.start <= _MOST_ROWS and bool(AUTOMATIC_NAME.fullmatch(task.name))
    return short and not np.any(graph.kind[task.start : task.stop] == Kind.ENTER)
