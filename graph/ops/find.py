"""Finds events by what a person has in hand: part of a message, a line of a log file, a place in the source."""

from __future__ import annotations

import json
import re

import numpy as np
import numpy.typing as npt

from clew.graph.event import LEVEL_NAMES
from clew.graph.model import ExecutionGraph
from clew.graph.ops.moments import NEAR_NS, moments
from clew.graph.texts import TESTS
from clew.records.event import FLAG_FAILED, Kind

_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
I64 = npt.NDArray[np.int64]

LEVEL_NUMBERS = {name: number for number, name in LEVEL_NAMES.items()} | {"WARN": 30, "FATAL": 50}
_PLACE = re.compile(r"(?P<file>[\w./\\-]+\.py)(?::|\", line |, line )(?P<line>\d+)")
_COLOUR = r"(?:\x1b\[[\d;]*m)*"
_ID = re.compile(
    rf"(?:\[clew |clew{_COLOUR}[\"']?{_COLOUR}\s*[=:]\s*{_COLOUR}[\"']?)"
    r"(?P<uid>[0-9a-f]{16})\.(?P<thread>\d{1,9})\.(?P<number>\d{1,18})\b"
)
"""What `logs … with ids` writes on a line: the process, the thread, and which of the thread's LOG events it is. At the end
of text `[clew ID]`; as a field `"clew": "ID"` of JSON, `clew=ID` of the other ways to write one."""


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
    written = _unescaped(line_text)
    messages = {row: _first_line(graph.text(row)) for row in rows.tolist()}
    fitting = [row for row, message in messages.items() if message and message in written]
    if not fitting:
        return None
    possible = moments(line_text)
    place = _PLACE.search(line_text)

    def fit(row: int) -> tuple[int, int, float]:
        event = graph.event(row)
        rest = written.replace(messages[row], "", 1)
        agrees = bool(re.search(rf"\b{re.escape(event.level)}\b", rest, re.IGNORECASE)) if event.level else False
        agrees_name = bool(event.channel) and event.channel in rest
        at_place = place is not None and same_file(event.file, place["file"]) and event.line == int(place["line"])
        away = min((moment.away(graph.wall_ns(row)) for moment in possible), default=0)
        near = bool(possible) and away <= NEAR_NS
        return (len(messages[row]), agrees + agrees_name + 2 * at_place + 2 * near, -float(away))

    return max(fitting, key=fit)


def _by_id(graph: ExecutionGraph, line_text: str) -> int | None:
    """The event that the id on a line names; None without one, or when what is there has another message."""
    written = ""
    for found in reversed(list(_ID.finditer(line_text))):  # a message may quote another line
        row = _named(graph, int(found["uid"], 16), int(found["thread"]), int(found["number"]))
        written = written or _unescaped(line_text)
        if row is not None and _first_line(graph.text(row)) in written:
            return row
    return None


def _named(graph: ExecutionGraph, uid: int, thread: int, number: int) -> int | None:
    mine = np.zeros(len(graph.strands), bool)
    for strand in graph.strands:
        mine[strand.index] = strand.thread == thread and graph.processes[strand.process].uid == uid
    rows = np.flatnonzero(graph.kind == Kind.LOG)
    rows = rows[mine[graph.strand[rows]]]
    if not 1 <= number <= len(rows):
        return None
    return int(rows[np.argsort(graph.ts[rows], kind="stable")[number - 1]])


def _unescaped(line_text: str) -> str:
    """The line, and behind it the texts that JSON in it stands for."""
    return "\n".join([line_text, *filter(None, map(_json_text, _JSON_TEXT.findall(line_text)))])


def _json_text(quoted: str) -> str:
    if "\\" not in quoted:
        return ""
    try:
        return str(json.loads(quoted, strict=False))
    except ValueError:
        return ""


def _first_line(message: str) -> str:
    return message.split("\n", 1)[0].strip()
