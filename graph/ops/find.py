"""Finds events by what a person has in hand: part of a message, a level, a place in the source, a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.event import LEVEL_NAMES
from clew.graph.logs.moments import NEAR_NS
from clew.graph.model import ExecutionGraph
from clew.graph.texts import TESTS
from clew.records.event import FLAG_FAILED, Kind

I64 = npt.NDArray[np.int64]

LEVEL_NUMBERS = {name: number for number, name in LEVEL_NAMES.items()} | {"WARN": 30, "FATAL": 50}


def find_logs(
    graph: ExecutionGraph,
    text: str | None = None,
    *,
    level: int | str | None = None,
    file: str | None = None,
    line: int | None = None,
    wall_ns: int | None = None,
) -> I64:
    """The log events, ascending, with `text` in their message, of at least `level`, from a place, near a wall-clock time.

    `file` may be the end of a path. `level` is a number or a name. Raises KeyError for a name that is no level.
    """
    rows = np.flatnonzero(graph.kind == Kind.LOG)
    if level is not None:
        least = LEVEL_NUMBERS[level.upper()] if isinstance(level, str) else level
        rows = rows[graph.extensions.key[graph.ext[rows]].astype(np.int64) >= least]
    if wall_ns is not None:
        rows = rows[np.abs(graph.ts[rows] - (wall_ns - graph.info.started)) <= NEAR_NS]
    if file is not None or line is not None:
        wanted = np.array(
            [
                (file is None or same_file(site.file, file)) and (line is None or site.line == line)
                for site in graph.sites
            ]
        )
        rows = rows[wanted[graph.site[rows]]]
    if text is not None:
        rows = rows[texts_pass(graph, rows, "contains", text)]
    return rows


def texts_pass(graph: ExecutionGraph, rows: I64, test: str, wanted: str) -> npt.NDArray[np.bool_]:
    """Per event: does its text pass one of the `TESTS` of `clew.graph.texts`?"""
    ext = graph.ext[rows]
    extended = np.flatnonzero(ext >= 0)
    passes = np.full(len(rows), TESTS[test]("", wanted))
    if not len(extended):
        return passes
    passes[extended] = graph.extensions.texts.find(test, wanted)[ext[extended]]
    # Of these, the text says what failed.
    failed = extended[(graph.extensions.flags[ext[extended]] & FLAG_FAILED) != 0]
    passes[failed] = [TESTS[test](graph.text(row), wanted) for row in rows[failed].tolist()]
    return passes


def same_file(path: str, wanted: str) -> bool:
    """Is `wanted` the path or whole parts of its end?"""
    path, wanted = path.replace("\\", "/"), wanted.replace("\\", "/")
    parts = wanted.split("/")
    while parts and parts[0] in ("", ".", ".."):
        del parts[0]
    return bool(path) and (path == wanted or path.endswith("/" + "/".join(parts)))
