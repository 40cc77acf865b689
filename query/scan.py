"""Filter all events of a graph by conditions, without testing every event for every condition.

Conditions on strands and times select ranges of rows, because the events of a strand are consecutive. Conditions on durations
are tested on the columns of calls. Most other conditions are tested block by block. Invariant: the result, filtered by the
returned conditions, equals the result of `fields.filter_rows` for all events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from clew.graph.model.array_utils import expand
from clew.graph.model.graph import I64, ExecutionGraph
from clew.query.fields import FIELDS, OF_TEXT, comparison_mask
from clew.query.plan import Condition
from clew.records.format.event import Kind

Mask = npt.NDArray[np.bool_]
Test = Callable[[slice | I64], Mask]
"""A test that returns, per row, whether the row passes."""

BLOCK = 1 << 16
MANY = 1 << 12
"""The largest number of row ranges that are scanned one by one; for more ranges, testing all rows at once is faster."""
OF_STRANDS = ("process", "strand", "thread")
OF_CALLS = ("total_ns", "self_ns", "waiting_ns")
RANGES = ("eq", "lt", "le", "gt", "ge")


def choose(graph: ExecutionGraph, conditions: Sequence[Condition]) -> tuple[I64, list[Condition]]:
    """Return events, ascending, for which some of the conditions hold, and the remaining conditions, which are untested."""
    measures = [condition for condition in conditions if condition[0] in OF_CALLS]
    if measures:
        return _by_calls(graph, measures), [condition for condition in conditions if condition not in measures]
    low, high, rest = _narrowed(graph, conditions)
    if len(low) > MANY:
        return expand(low, high), rest
    tests: list[Test] = []
    if any(name == "level" and comparison not in OF_TEXT for name, comparison, _ in rest):
        tests.append(lambda rows: graph.kind[rows] == Kind.LOG)
    left = []
    for condition in sorted(rest, key=lambda condition: condition[0] != "kind"):
        test = _test(graph, *condition)
        if test is None:
            left.append(condition)
        else:
            tests.append(test)
    found = [_passing(rows, tests) for rows in _blocks(low, high, BLOCK if tests else len(graph))]
    return found[0] if len(found) == 1 else np.concatenate([np.zeros(0, np.int64), *found]), left


def _by_calls(graph: ExecutionGraph, measures: Sequence[Condition]) -> I64:
    chosen = np.ones(len(graph.calls.enter), bool)
    for name, comparison, operand in measures:
        chosen &= comparison_mask(getattr(graph.calls, name), comparison, operand)
    return graph.calls.enter[chosen]


def _narrowed(graph: ExecutionGraph, conditions: Sequence[Condition]) -> tuple[I64, I64, list[Condition]]:
    """Return the rows that satisfy the conditions on strands and times, and the other conditions.

    The rows are ascending ranges, as their first rows and their ends.
    """
    low = np.array([strand.start for strand in graph.strands], np.int64)
    high = np.array([strand.stop for strand in graph.strands], np.int64)
    rest = []
    for name, comparison, operand in conditions:
        if name in OF_STRANDS:
            low, high = (np.where(_holds(graph, name, comparison, operand), side, high) for side in (low, high))
        elif name == "ts" and comparison in RANGES:
            if comparison in ("eq", "ge", "gt"):
                low = _first(graph.ts, low, high, operand, beyond=comparison == "gt")
            if comparison in ("eq", "le", "lt"):
                high = _first(graph.ts, low, high, operand, beyond=comparison != "lt")
        else:
            rest.append((name, comparison, operand))
    some = low < high
    low, high = low[some], high[some]
    # Merge adjacent ranges.
    begins = np.ones(len(low), bool)
    begins[1:] = low[1:] != high[:-1]
    return low[begins], high[np.append(begins[1:], True)[: len(high)]], rest


def _first(ts: I64, low: I64, high: I64, operand: float, *, beyond: bool) -> I64:
    """Return, per range, its first row at or after a time, or strictly after it with `beyond`; its end without such a row."""
    low, high = low.copy(), high.copy()
    while (open_ := np.flatnonzero(low < high)).size:
        middle = (low[open_] + high[open_]) // 2
        there = ts[middle] > operand if beyond else ts[middle] >= operand
        high[open_[there]] = middle[there]
        low[open_[~there]] = middle[~there] + 1
    return low


def _blocks(low: I64, high: I64, size: int) -> Iterator[slice]:
    for begin, end in zip(low.tolist(), high.tolist(), strict=True):
        for at in range(begin, end, size):
            yield slice(at, min(at + size, end))


def _passing(rows: slice, tests: Sequence[Test]) -> I64:
    if not tests:
        return np.arange(rows.start, rows.stop, dtype=np.int64)
    chosen: I64 = np.flatnonzero(tests[0](rows)) + rows.start
    for test in tests[1:]:
        if not len(chosen):
            break
        chosen = chosen[test(chosen)]
    return chosen


def _holds(graph: ExecutionGraph, name: str, comparison: str, operand: object) -> Mask:
    """Return for which values of a field the condition holds. The field belongs to strands, sites, kinds or names."""
    values, _ = FIELDS[name].codes(graph, np.zeros(0, np.int64))
    return comparison_mask(values, comparison, operand)


def _test(graph: ExecutionGraph, name: str, comparison: str, operand: object) -> Test | None:
    """Return a test of rows in blocks; None if the condition is to be tested only on the events that are left."""
    if name == "kind":
        kinds = np.flatnonzero(holds := _holds(graph, name, comparison, operand))
        return (lambda rows: graph.kind[rows] == kinds[0]) if len(kinds) == 1 else lambda rows: holds[graph.kind[rows]]
    if name == "channel":
        of_name = _holds(graph, name, comparison, operand)
        of_ext = of_name[np.append(graph.extensions.channel, np.uint32(0))]
        return lambda rows: of_ext[graph.ext[rows]]
    if name in ("function", "module", "component", "file", "line"):
        of_site = _holds(graph, name, comparison, operand)
        by_place = name in ("file", "line")
        return lambda rows: of_site[_sites(graph, rows, by_place=by_place)]
    return None


def _sites(graph: ExecutionGraph, rows: slice | I64, *, by_place: bool) -> npt.NDArray[np.uint32]:
    """Return the site of the enclosing function per event; with `by_place`, the event's own site if it has one."""
    own, call = graph.site[rows], graph.call[rows]
    outside = (call < 0) | (own != 0) if by_place else call < 0
    site: npt.NDArray[np.uint32] = graph.site[call]
    site[outside] = own[outside]
    return site
