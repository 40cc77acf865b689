"""Group a run into like executions: the requests of one name, or the strands that begin with the same function.

Each execution has its steps in the order of time: calls, log lines and lines of output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.open_run import OpenRun
from clew.graph.ops.diagnoses import words
from clew.graph.ops.flows.flows import flows_of
from clew.records.format.event import Kind

MOST_REQUESTS = 1000
"""Of more requests of one name, the newest are compared."""
MOST_LETTERS = 80
_NUMBER = re.compile(r"[A-Za-z0-9_]*\d[A-Za-z0-9_]*")
_PLACEHOLDER = re.compile(r"%[#0 +-]*\d*(?:\.\d+)?[sdifrxgeo]|\{[^{}]*\}")
_LINES = (Kind.LOG, Kind.OUTPUT)

Step = tuple[str, str]
"""The identity of a step in all like executions: ("call", label) or ("line", template)."""


@dataclass(frozen=True, eq=False)
class Execution:
    """One request, or one strand of a run without requests."""

    graph: ExecutionGraph
    name: str
    is_request: bool
    root: int
    """The REQUEST event, or the strand's first row."""
    rows: tuple[int, ...]
    """Its steps, by time."""
    strands: frozenset[int]

    @cached_property
    def steps(self) -> list[Step]:
        return [step_of(self.graph, row) for row in self.rows]

    @cached_property
    def end_ns(self) -> int:
        """When it ended, in ns since the run's start; the run's last event if it did not."""
        graph = self.graph
        if not self.is_request:
            return max(graph.at("ts", graph.strand_of(self.root).stop - 1), graph.at("ts", self.root))
        call = graph.call_of(self.root)
        end = graph.exit_of(call) if call >= 0 else -1
        return graph.at("ts", end) if end >= 0 else int(graph.ts.max())

    def names(self, numbers: set[str]) -> bool:
        """Return whether a line of it, or the name of its strand, has one of these words."""
        graph = self.graph
        texts = [graph.text(row) for row in self.rows if graph.at("kind", row) in _LINES]
        return any(numbers & numbers_in(text.replace("-", " ")) for text in [*texts, graph.strand_of(self.root).name])

    @property
    def what(self) -> str:
        """Return `request GET /items` or `strand consumer-b`."""
        if self.is_request:
            return f"request {self.name}"
        strand = self.graph.strand_of(self.root)
        return f"{strand.kind} {strand.name}" if strand.name else f"a {strand.kind} without a name"


def numbers_in(text: str) -> set[str]:
    """Return the words of a text that have a digit: what distinguishes one execution from like ones."""
    return set(_NUMBER.findall(text))


def step_of(graph: ExecutionGraph, row: int) -> Step:
    if graph.at("kind", row) in _LINES:
        return "line", _NUMBER.sub("…", graph.text(row))
    return "call", graph.sites[graph.at("site", row)].label


def step_text(graph: ExecutionGraph, row: int) -> str:
    """Return `the call of Cart.price (shop.py:12)` or `the line 'reserved item 3'`."""
    site = graph.sites[graph.at("site", row)]
    place = f" ({words.base_name(site.file)}:{site.line})" if site.file and site.line else ""
    if graph.at("kind", row) in _LINES:
        text = graph.text(row).strip()
        return f"the line {text[:MOST_LETTERS] + '…' if len(text) > MOST_LETTERS else text!r}{place}"
    return f"the call of {site.qualname}{place}"


def occurrences(graph: ExecutionGraph, text: str) -> list[int]:
    """Return the rows that `text` names: calls of a function, or lines that contain it; by row.

    If no line contains it, lines that differ from it only in numbers, or in the places of `%s` and `{}`, are returned.
    """
    sites = [
        number for number, site in enumerate(graph.sites)
        if text in (site.qualname, site.label, site.qualname.rpartition(".")[2]) and site.qualname
    ]  # fmt: skip
    enters = graph.rows_of([Kind.ENTER])
    rows = enters[np.isin(graph.site[enters], sites)].tolist() if sites else []
    lines = graph.rows_of(list(_LINES)).tolist()
    texts = [(row, graph.text(row)) for row in lines]
    found = [row for row, line in texts if text in line]
    if not found and (_PLACEHOLDER.search(text) or _NUMBER.search(text)):
        pattern = _pattern(text)
        found = [row for row, line in texts if pattern.search(line)]
    return sorted({*rows, *found})


def _pattern(text: str) -> re.Pattern[str]:
    parts = _PLACEHOLDER.split(text)
    any_numbers = [r"[A-Za-z0-9_]*\d[A-Za-z0-9_]*".join(map(re.escape, _NUMBER.split(part))) for part in parts]
    return re.compile(".+?".join(any_numbers))


def requests_of(run: OpenRun, name: str) -> list[Execution]:
    """Return the requests of a name, the oldest first."""
    graph = run.graph
    rows = graph.rows_of([Kind.REQUEST], name)
    if not len(rows):
        return []
    rows = rows[np.argsort(graph.ts[rows], kind="stable")][-MOST_REQUESTS:]
    flows = flows_of(run, rows)
    outputs = _outputs_by_call(graph)
    bounds = np.searchsorted(flows.log_call, flows.first)
    found = []
    for number, root in enumerate(flows.request.tolist()):
        events = flows.event[flows.places(number)].tolist()
        calls = [row for row in events if graph.at("kind", row) == Kind.ENTER]
        lines = flows.log_event[bounds[number] : bounds[number + 1]].tolist()
        rows_here = [*calls, *lines, *(line for call in calls for line in outputs.get(call, ()))]
        found.append(_made(graph, name, root, [*rows_here], events, is_request=True))
    return found


def _outputs_by_call(graph: ExecutionGraph) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for row in graph.rows_of([Kind.OUTPUT]).tolist():
        found.setdefault(graph.owner_of(row), []).append(row)
    return found


def strands_of(run: OpenRun, function: str) -> list[Execution]:
    """Return the strands whose first call is of a function, given by its label, the oldest first."""
    graph = run.graph
    found = []
    for strand in graph.strands:
        rows = graph.rows_of([Kind.ENTER, *_LINES])
        rows = rows[np.searchsorted(rows, strand.start) : np.searchsorted(rows, strand.stop)]
        if len(rows) and first_function(graph, strand.index) == function:
            found.append(_made(graph, function, strand.start, rows.tolist(), [strand.start], is_request=False))
    return sorted(found, key=lambda execution: graph.at("ts", execution.root))


def first_function(graph: ExecutionGraph, strand: int) -> str:
    """Return the label of the first function that a strand calls, "" if it calls none."""
    found = graph.strands[strand]
    enters = graph.rows_of([Kind.ENTER])
    at = int(np.searchsorted(enters, found.start))
    if at == len(enters) or enters[at] >= found.stop:
        return ""
    return graph.sites[graph.at("site", int(enters[at]))].label


def _made(
    graph: ExecutionGraph, name: str, root: int, rows: list[int], of: list[int], *, is_request: bool
) -> Execution:
    ordered = sorted(set(rows), key=lambda row: (graph.at("ts", row), row))
    strands = frozenset(graph.at("strand", row) for row in {root, *of})
    return Execution(graph, name, is_request, root, tuple(ordered), strands)
