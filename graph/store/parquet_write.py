"""Writes the tables of a graph, a group of rows at a time, so that no table is copied as a whole.

Invariant: equal graphs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clew.graph.model.graph import I64, ExecutionGraph, Process, Regions, Rows, Site, Strand, Texts
from clew.graph.model.text_templates import Templates, as_strings
from clew.graph.runtime.arrow_arrays import from_lists, from_numbers, from_texts
from clew.graph.runtime.progress import Meter, Progress, no_progress
from clew.graph.store.parquet_read import Columns, in_groups, write
from clew.records.read.parallel import together

_WRITING = "the store"


def write_tables(
    folder: Path, graph: ExecutionGraph, progress: Progress = no_progress, meanwhile: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Write all tables, several at a time. Return, by table, the entry that its reader needs. Raises OSError.

    `meanwhile` runs in parallel and writes files that are not tables.
    """
    large = {
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
        "regions": {field.name: getattr(graph.regions, field.name) for field in fields(Regions)},
    }
    extended = np.flatnonzero(graph.ext >= 0)
    lengths = {name: len(next(iter(columns.values()))) for name, columns in large.items()}
    meter = Meter(progress, _WRITING, sum(lengths.values()) + len(extended))
    works: list[Callable[[], dict[str, Any] | None]] = [
        # The longest job comes first.
        partial(_write_payloads, folder, graph, extended, meter),
        *(partial(_write_large, folder, name, columns, lengths[name], meter) for name, columns in large.items()),
        meanwhile,
        partial(_write_small, folder, graph),
    ]
    written: dict[str, Any] = {}
    for some in together(works, meter.ending):
        written |= some or {}
    meter.over()
    return written


def _write_small(folder: Path, graph: ExecutionGraph) -> dict[str, Any]:
    numbers = from_numbers(np.arange(len(graph.sites)), pa.uint32())
    tables = {
        "locations": _table([asdict(site) for site in graph.sites], Site).add_column(0, "location", numbers),
        "processes": _table([asdict(process) for process in graph.processes], Process),
        "strands": _table([asdict(strand) for strand in graph.strands], Strand),
        "names": pa.table({"name": from_texts(graph.strings).cast(pa.string())}),
    }
    return {name: write(folder, name, table) for name, table in tables.items()}


def _write_large(
    folder: Path, name: str, columns: Mapping[str, npt.NDArray[Any]], rows: int, meter: Meter
) -> dict[str, Any]:
    return {name: write(folder, name, _in_reported_groups(meter, rows, partial(_part, columns)))}


def _write_payloads(folder: Path, graph: ExecutionGraph, extended: I64, meter: Meter) -> dict[str, Any]:
    templates = Templates()
    groups = _in_reported_groups(meter, len(extended), partial(_payloads, graph, extended, _strings(graph), templates))
    payloads = write(folder, "payloads", groups)
    found = {"template": from_texts(templates.texts).cast(pa.string()), "numeric": from_numbers(templates.numeric)}
    return {"payloads": payloads, "templates": write(folder, "templates", pa.table(found))}


def _in_reported_groups(meter: Meter, rows: int, columns: Callable[[slice], Columns]) -> Iterator[Columns]:
    """Yield a table's columns in groups, and report each group to the meter."""

    def report(part: slice) -> Columns:
        meter.next(part.stop - part.start)
        return columns(part)

    return in_groups(rows, report)


def _part(columns: Mapping[str, npt.NDArray[Any]], rows: slice) -> Columns:
    return {name: column[rows] for name, column in columns.items()}


def _payloads(
    graph: ExecutionGraph, extended: I64, strings: Callable[[Rows], pa.Array], templates: Templates, part: slice
) -> Columns:
    """Return the columns of payloads for some of the events that have an extension."""
    events = extended[part]
    rows = graph.ext[events]
    template, parameters, first = templates.to_templates(strings(rows))
    return {
        "event": events,
        "key": graph.extensions.key[rows],
        "channel": graph.extensions.channel[rows],
        "flags": graph.extensions.flags[rows],
        "template": template,
        "parameters": pa.LargeListArray.from_arrays(from_numbers(first, pa.int64()), parameters),
    }


def _strings(graph: ExecutionGraph) -> Callable[[Rows], pa.Array]:
    """Return a function that returns the texts of rows of the extensions."""
    texts = graph.extensions.texts
    if isinstance(texts, Texts):
        column = as_strings(texts.start, texts.data)
        return lambda rows: column.take(from_numbers(rows))
    return lambda rows: from_texts(texts[row] for row in rows.tolist())


_TYPES = {"int": pa.int64(), "str": pa.string(), "bool": pa.bool_(), "tuple[str, ...]": pa.list_(pa.string())}
_UNSIGNED = frozenset({"uid", "parent_uid", "key"})


def _table(rows: list[dict[str, Any]], of: type) -> pa.Table:
    columns = {field.name: _small([row[field.name] for row in rows], field) for field in fields(of)}
    return pa.table(columns)


def _small(values: list[Any], field: Field[Any]) -> pa.Array:
    kind = pa.uint64() if field.name in _UNSIGNED else _TYPES[str(field.type)]
    if pa.types.is_list(kind):
        return from_lists(values)
    return from_texts(values).cast(kind) if pa.types.is_string(kind) else from_numbers(values, kind)
