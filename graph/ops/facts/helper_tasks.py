"""Find the tasks that `asyncio.wait_for` makes, up to Python 3.11, to run a coroutine of a library such as `lock.acquire()`.

Such a task acts for the one that awaits it: what it waits for is what the other one waits for, and what it takes is the
other one's when it ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import numpy as np

from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import Kind
from clew.records.format.facts import Frame, Wait

AUTOMATIC_NAME = re.compile(r"Task-\d+")
_MOST_ROWS = 64
"""A task with more rows does more than one such call."""


def awaits_helper(wait: Wait) -> bool:
    """Return whether `asyncio.wait_for` waits for a task that it may have made."""
    return bool(wait.target and wait.at) and _is_wait_for(wait.at[0])


def _is_wait_for(frame: Frame) -> bool:
    return frame.function == "wait_for" and frame.file.endswith("asyncio/tasks.py")


def principals(
    graph: ExecutionGraph, awaited: Iterable[tuple[int, Wait]], strand_with_key: Callable[[int, int], int]
) -> dict[int, int]:
    """Return for each helper the strand that it acts for. `awaited` has the strands and texts of waits."""
    found: dict[int, int] = {}
    for strand, wait in awaited:
        if awaits_helper(wait):
            helper = strand_with_key(graph.strands[strand].process, wait.target)
            if helper >= 0 and helper != strand and _runs_only_library(graph, helper):
                found[helper] = strand
    for helper, strand in found.items():
        seen = {helper}
        while strand in found and strand not in seen:
            seen.add(strand)
            strand = found[strand]  # noqa: PLW2901 - a helper may act for a helper
        found[helper] = strand
    return found


def _runs_only_library(graph: ExecutionGraph, strand: int) -> bool:
    task = graph.strands[strand]
    short = task.stop - task.start <= _MOST_ROWS and bool(AUTOMATIC_NAME.fullmatch(task.name))
    return short and not np.any(graph.kind[task.start : task.stop] == Kind.ENTER)
