"""Writes a graph's tables, a group of rows at a time, so that no table is there twice.

Invariant: equal graphs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clew.graph.model import I64, ExecutionGraph, Process, Regions, Rows, Site, Strand, Texts
from clew.graph.progress import Progress, nobody
from clew.graph.tables import ROWS_A_GROUP, Columns, in_groups, write
from clew.graph.texts import Templates, as_strings

_KEEPING = "what is kept"


def write_tables(folder: Path, graph: ExecutionGraph, progress: Progress = nobody) -> dict[str, Any]:
    """Writes all tables; what each one's reader has to know. Raises OSError."""
    numbers = pa.array(np.arange(len(graph.sites)), pa.uint32())
    small = {
        "locations": _table([asdict(site) for site in graph.sites], Site).add_column(0, "location", numbers),
        "processes": _table([asdict(process) for process in graph.processes], Process),
        "strands": _table([asdict(strand) for strand in graph.strands], Strand),
        "names": pa.table({"name": pa.array(graph.strings, pa.string())}),
    }
    large = {
        "regions": {field.name: getattr(graph.regions, field.name) for field in fields(Regions)},
        "events": {
            "ts": graph.ts,
            "kind": graph.kind,
            "location": graph.site,
            "strand": graph.strand,
            "region": graph.region,
            "idle": graph.idle,
        },
        "edges": {
            "source": graph.edge_src,
            "target": graph.edge_dst,
            "kind": graph.edge_kind,
            "channel": graph.edge_channel,
        },
    }
    extended = np.flatnonzero(graph.ext >= 0)
    lengths = {name: len(next(iter(columns.values()))) for name, columns in large.items()}
    told = _Told(progress, sum(lengths.values()) + len(extended))
    written = {name: write(folder, name, table) for name, table in small.items()}
    for name, columns in large.items():
        written[name] = write(folder, name, told.of(lengths[name], partial(_part, columns)))
    templates = Templates()
    payloads = told.of(len(extended), partial(_payloads, graph, extended, _strings(graph), templates))
    written["payloads"] = write(folder, "payloads", payloads)
    found = {"template": pa.array(templates.texts, pa.string()), "numeric": pa.array(templates.numeric)}
    written["templates"] = write(folder, "templates", pa.table(found))
    told.over()
    return written


class _Told:
    """Tells how many of all rows have been written."""

    def __init__(self, progress: Progress, rows: int) -> None:
        self._progress, self._rows, self._done = progress, max(rows, 1), 0

    def of(self, rows: int, columns: Callable[[slice], Columns]) -> Iterator[Columns]:
        """A table's columns in groups."""
        before = self._done
        for group in in_groups(rows, columns):
            self._progress(_KEEPING, self._done, self._rows)
            yield group
            self._done = min(self._done + ROWS_A_GROUP, before + rows)

    def over(self) -> None:
        self._progress(_KEEPING, self._rows, self._rows)


def _part(columns: Mapping[str, npt.NDArray[Any]], rows: slice) -> Columns:
    return {name: column[rows] for name, column in columns.items()}


def _payloads(
    graph: ExecutionGraph, extended: I64, strings: Callable[[Rows], pa.Array], templates: Templates, part: slice
) -> Columns:
    """Of some of the events that have an extension."""
    events = extended[part]
    rows = graph.ext[events]
    template, parameters, first = templates.take_apart(strings(rows))
    return {
        "event": events,
        "key": graph.extensions.key[rows],
        "channel": graph.extensions.channel[rows],
        "flags": graph.extensions.flags[rows],
        "template": template,
        "parameters": pa.LargeListArray.from_arrays(pa.array(first, pa.int64()), parameters),
    }


def _strings(graph: ExecutionGraph) -> Callable[[Rows], pa.Array]:
    """Gives the texts of some rows of the extensions."""
    texts = graph.extensions.texts
    if isinstance(texts, Texts):
        column = as_strings(texts.start, texts.data)
        return lambda rows: column.take(pa.array(rows))
    return lambda rows: pa.array([texts[row] for row in rows.tolist()], pa.large_string())


_TYPES = {"int": pa.int64(), "str": pa.string(), "bool": pa.bool_(), "tuple[str, ...]": pa.list_(pa.string())}
_UNSIGNED = frozenset({"uid", "parent_uid", "key"})


def _table(rows: list[dict[str, Any]], of: type) -> pa.Table:
    schema = pa.schema(
        [(field.name, pa.uint64() if field.name in _UNSIGNED else _TYPES[str(field.type)]) for field in fields(of)]
    )
    return pa.Table.from_pylist(rows, schema=schema)
