"""Finds events by what a person has in hand: part of a message, a line of a log file, a place in the source."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from clew.graph.model import LEVEL_NAMES, ExecutionGraph
from clew.graph.ops.moments import NEAR_NS, moments
from clew.records.event import Kind

I64 = npt.NDArray[np.int64]

LEVEL_NUMBERS = {name: number for number, name in LEVEL_NAMES.items()} | {"WARN": 30, "FATAL": 50}
_PLACE = re.compile(r"(?P<file>[\w./\\-]+\.py)(?::|\", line |, line )(?P<line>\d+)")
_ID = re.compile(r"\[clew (?P<uid>[0-9a-f]{16})\.(?P<thread>\d{1,9})\.(?P<number>\d{1,18})\]")
"""What `logs … with ids` writes at a line's end: the process, the thread, and which of the thread's LOG events it is."""


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
        rows = rows[np.array([text in graph.text(row) for row in rows.tolist()], bool)]
    return rows


def same_file(path: str, wanted: str) -> bool:
    """Is `wanted` the path or whole parts of its end?"""
    path, wanted = path.replace("\\", "/"), wanted.replace("\\", "/")
    parts = wanted.split("/")
    while parts and parts[0] in ("", ".", ".."):
        del parts[0]
    return bool(path) and (path == wanted or path.endswith("/" + "/".join(parts)))


def find_log_line(graph: ExecutionGraph, line_text: str) -> int | None:
    """The event that wrote a line of a log file; None when none fits.

    An id that the recorder put on the line names the event. Without one, the message must be in the line; of the events that
    qualify the one that agrees best with the line's level, logger, place and time is taken, and the longest message before a
    shorter one.
    """
    named = _by_id(graph, line_text)
    if named is not None:
        return named
    rows = np.flatnonzero(graph.kind == Kind.LOG)
    messages = {row: _first_line(graph.text(row)) for row in rows.tolist()}
    fitting = [row for row, message in messages.items() if message and message in line_text]
    if not fitting:
        return None
    possible = moments(line_text)
    place = _PLACE.search(line_text)

    def fit(row: int) -> tuple[int, int, float]:
        event = graph.event(row)
        rest = line_text.replace(messages[row], "", 1)
        agrees = bool(re.search(rf"\b{re.escape(event.level)}\b", rest)) if event.level else False
        agrees_name = bool(event.channel) and event.channel in rest
        at_place = place is not None and same_file(event.file, place["file"]) and event.line == int(place["line"])
        away = min((moment.away(graph.wall_ns(row)) for moment in possible), default=0)
        near = bool(possible) and away <= NEAR_NS
        return (len(messages[row]), agrees + agrees_name + 2 * at_place + 2 * near, -float(away))

    return max(fitting, key=fit)


def _by_id(graph: ExecutionGraph, line_text: str) -> int | None:
    """The event that the id on a line names; None without one, or when what is there has another message."""
    ids = list(_ID.finditer(line_text))
    if not ids:
        return None
    found = ids[-1]  # a message may quote another line
    uid, thread, number = int(found["uid"], 16), int(found["thread"]), int(found["number"])
    mine = np.zeros(len(graph.strands), bool)
    for strand in graph.strands:
        mine[strand.index] = strand.thread == thread and graph.processes[strand.process].uid == uid
    rows = np.flatnonzero(graph.kind == Kind.LOG)
    rows = rows[mine[graph.strand[rows]]]
    if not 1 <= number <= len(rows):
        return None
    row = int(rows[np.argsort(graph.ts[rows], kind="stable")[number - 1]])
    return row if _first_line(graph.text(row)) in line_text else None


def _first_line(message: str) -> str:
    return message.split("\n", 1)[0].strip()
