"""Find events by known facts: part of a message, a level, a place in the source, a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from clew.graph.logs.timestamps import NEAR_NS
from clew.graph.model.event import LEVEL_NAMES
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.text_templates import TESTS
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import FLAG_FAILED, Kind

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
    """Return the log events that match all given criteria, ascending.

    The criteria are `text` in the message, at least `level`, the source place, and nearness to a wall-clock time.
    `file` may be the end of a path. `level` is a number or a name. Raise KeyError for an unknown level name.
    """
    rows = np.flatnonzero(graph.kind == Kind.LOG)
    if level is not None:
        least = LEVEL_NUMBERS[level.upper()] if isinstance(level, str) else level
        rows = rows[graph.extensions.key[graph.ext[rows]].astype(np.int64) >= least]
    if wall_ns is not None:
        rows = rows[np.abs(graph.ts[rows] - (wall_ns - graph.info.started)) <= NEAR_NS]
    if file is not None or line is not None:
        in_file = np.array(
            [
                (file is None or same_file(site.file, file)) and (line is None or site.line == line)
                for site in graph.sites
            ]
        )
        rows = rows[in_file[graph.site[rows]]]
    if text is not None:
        rows = rows[texts_pass(graph, rows, "contains", text)]
    return rows


def find_outputs(graph: ExecutionGraph, text: str) -> I64:
    """Return the output lines that contain a text, ascending, without copies of log lines."""
    rows = np.flatnonzero(graph.kind == Kind.OUTPUT)
    rows = rows[texts_pass(graph, rows, "contains", text)]
    return np.array([row for row in rows.tolist() if not is_copy_of_log(graph, row)], np.int64)


def is_copy_of_log(graph: ExecutionGraph, row: int) -> bool:
    """Return whether a handler of `logging` wrote an output line: the log line just before it has its text."""
    start = graph.strand_of(row).start
    before = row - 1
    while before >= start and graph.at("kind", before) in (Kind.OUTPUT, Kind.EXCEPTION):
        before -= 1
    if before < start or graph.at("kind", before) != Kind.LOG:
        return False
    written, message = graph.text(row).strip(), graph.text(before)
    first = message.partition("\n")[0].strip()
    return bool(first) and (first in written or (bool(written) and written in message))


def is_printed_error(graph: ExecutionGraph, row: int) -> bool:
    """Return whether the program printed a line as an error: it begins with ERROR or CRITICAL, and copies no log line."""
    return graph.text(row).startswith(("ERROR", "CRITICAL")) and not is_copy_of_log(graph, row)


def find_exceptions(graph: ExecutionGraph, text: str) -> I64:
    """Return the first record of each exception that a text names, ascending: its type (`KeyError`, `json.JSONDecodeError`),
    a part of its message, or both (`KeyError: 'sku-7'`)."""
    wanted = text.strip()
    if not wanted:
        return np.zeros(0, np.int64)
    name, colon, part = wanted.partition(":")

    def names(channel: str) -> set[str]:
        own = exception_name(channel)
        return {own, channel, own.rpartition(".")[2]}

    exceptions = Facts.of(graph).exceptions
    candidates = exceptions.of_types(lambda channel: not names(channel).isdisjoint((wanted, name)))
    first: dict[tuple[int, int], int] = {}
    for fact in exceptions.take(candidates | exceptions.may_say(wanted)):
        named = names(fact.channel)
        is_meant = wanted in named or bool(colon and name in named and part.strip() in fact.text.message)
        if is_meant or wanted in fact.text.message:
            known = first.get(fact.resource)
            if known is None or fact.ns < graph.at("ts", known):
                first[fact.resource] = fact.row
    return np.array(sorted(first.values()), np.int64)


def exception_name(channel: str) -> str:
    """Return an exception type's name as a traceback has it: without `__main__`."""
    return channel.removeprefix("__main__.")


def texts_pass(graph: ExecutionGraph, rows: I64, test: str, value: str) -> npt.NDArray[np.bool_]:
    """Return for each event whether its text passes one of the `TESTS` of `clew.graph.model.text_templates`."""
    ext = graph.ext[rows]
    extended = np.flatnonzero(ext >= 0)
    passes = np.full(len(rows), TESTS[test]("", value))
    if not len(extended):
        return passes
    passes[extended] = graph.extensions.texts.find(test, value)[ext[extended]]
    # Events with the failed flag have a derived text that describes the failure, so they are tested one by one.
    failed = extended[(graph.extensions.flags[ext[extended]] & FLAG_FAILED) != 0]
    passes[failed] = [TESTS[test](graph.text(row), value) for row in rows[failed].tolist()]
    return passes


def same_file(path: str, suffix: str) -> bool:
    """Return whether `suffix` is the path itself or a whole-component suffix of it."""
    path, suffix = path.replace("\\", "/"), suffix.replace("\\", "/")
    parts = suffix.split("/")
    while parts and parts[0] in ("", ".", ".."):
        del parts[0]
    return bool(path) and (path == suffix or path.endswith("/" + "/".join(parts)))
