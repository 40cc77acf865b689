"""Resolves the user's target (an event, words of a log message, of an exception or of an output line, a location, a
function) to the events a view starts
from.

Invariant: a target without events raises `NothingFound`, whose text names alternatives.
"""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from clew.records.errors import ClewError
from clew.records.format.event import Kind
from clew.records.run.directory import RunInfo, list_runs
from clew.server.locations.function_at_line import function_at
from clew.server.locations.line_mapping import places
from clew.server.locations.log_line import WrittenLine, find, find_in, is_source
from clew.server.locations.paths import same_file_key
from clew.server.protocol.shared import Location, Target
from clew.server.session.session import Session, Task, which_of
from clew.server.text import units
from clew.server.text.events import event_title, shorten
from clew.server.views.failing_test import last_error

if TYPE_CHECKING:
    from clew.graph.model.graph import ExecutionGraph
    from clew.query.api import Run

Direction = Literal["backward", "forward"]
NEAR_MATCHES = 3
SHOWN_FILES = 4


class NothingFound(ClewError):
    """The run has no event for the target."""

    exit_code = 1


@dataclass(frozen=True)
class Found:
    run: Run
    events: tuple[int, ...]
    """The start of the view, newest first."""
    title: str
    matches: int = 1
    """Number of events of the target; `events` may have only the newest."""
    reasons: tuple[str, ...] = ()
    """For a log line: why the event is the likeliest of those that may have written it."""
    test: str = ""
    """The failed test that the target is the last error of."""

    @property
    def event(self) -> int:
        return self.events[0]


def find_target(
    session: Session, which: str, target: Target, task: Task, direction: Direction = "backward", *, every: bool = False
) -> Found:
    """Return the events of `target` in a run. Of several log lines it takes the newest, unless `every`. Raises
    `NothingFound`."""
    if target.location is not None and not is_source(target.location.path):
        return _log_file_line(session, which, target.location, task, every=every)
    if target.line is not None:
        return _log_line(session, which, target.line, find(session, target.line, task, which), task, every=every)
    run = session.open(which, task)
    task.phase("looking for the event")
    if target.event is not None:
        if not 0 <= target.event < len(run.graph):
            raise NothingFound(
                f"run {run.info.name} has no event {target.event}; its events are 0 to {len(run.graph) - 1}"
                if len(run.graph)
                else nothing_recorded(run)
            )
        return Found(run, (target.event,), event_title(run.graph, target.event))
    if target.text is not None:
        return _log_text(run, target.text, every)
    if target.location is not None:
        return _source_line(session, run, target.location, task, direction)
    if target.function is not None:
        return _function(session, run, target.function, task, direction)
    if target.test is not None:
        return _failed_test(run, target.test)
    return _newest_trouble(run)


def find_in_snapshot(
    session: Session, which: str, target: Target, task: Task, direction: Direction = "backward"
) -> Found:
    """Like `find_target`, in a snapshot whose events keep their numbers for further requests."""
    found = find_target(session, which, target, task, direction)
    return replace(found, run=session.as_snapshot(found.run))


def _log_text(run: Run, text: str, every: bool) -> Found:
    from clew.graph.logs.match_line import find_line
    from clew.graph.ops.find_events import find_exceptions, find_logs, find_outputs

    graph = run.graph
    found = by_time(graph, find_logs(graph, text=text))
    if not found:
        found = by_time(graph, find_exceptions(graph, text)) or by_time(graph, find_outputs(graph, text))
    if not found:
        # A whole line, with its time and level, or in JSON.
        line = find_line(graph, text)
        if not line.events:
            raise NothingFound(no_such_text(run, text))
        events = tuple(one.event for one in line.events)
        title = event_title(graph, events[0])
        return Found(run, events if every else events[:1], title, line.count, line.events[0].reasons)
    return Found(run, tuple(found) if every else (found[0],), event_title(graph, found[0]), len(found))


def no_such_text(run: Run, text: str) -> str:
    """Return the error that no log line has the text, with similar log lines."""
    graph = run.graph
    if any(
        isinstance(info, RunInfo) and text in (info.id, info.name) for _, info in list_runs(Path(run.info.workspace))
    ):
        return f"no log line of run {run.info.name} has {text!r}; {text} is a run: use --run {text}"
    logs = graph.rows_of([Kind.LOG])
    if not len(logs):
        hint = "no exception or output line has the text either; does it log through `logging`, and does the spec say `logs`?"
        if run.info.imported:
            hint = "the imported trace has none; import its log file along with it"
        return f"run {run.info.name} recorded no log line; {hint}{but(run)}"
    messages = Counter(shorten(graph.text(int(event)), 100) for event in logs[-20_000:])
    lowered = {message.lower(): message for message in messages}
    near = [lowered[key] for key in difflib.get_close_matches(text.lower(), lowered, NEAR_MATCHES, 0.4)]
    words = [word for word in text.lower().split() if len(word) > 2]
    with_words = sorted(lowered, key=lambda key: -sum(word in key for word in words))
    near += [lowered[key] for key in with_words if any(word in key for word in words)]
    shown = list(dict.fromkeys(near))[:NEAR_MATCHES]
    hint = "the nearest are " + ", ".join(repr(message) for message in shown) if shown else "none is near"
    return f"no log line of run {run.info.name} has {text!r}; of {units.count(len(logs), 'log line')}, {hint}{but(run)}"


def _log_file_line(session: Session, which: str, location: Location, task: Task, *, every: bool) -> Found:
    unsaved = session.overlay(location.path)
    try:
        lines = (
            session.logs.of_text(location.path, None, unsaved)
            if unsaved is not None
            else session.logs.of_file(location.path, task)
        )
    except OSError:
        lines = None
    if lines is None or not 1 <= location.line <= len(lines):
        raise NothingFound(f"{location.path}:{location.line}: there is no such line")
    row = location.line - 1
    return _log_line(session, which, lines.line(row), find_in(session, lines, row, task, which), task, every=every)


def _log_line(
    session: Session, which: str, line: str, written: WrittenLine | None, task: Task, *, every: bool
) -> Found:
    if written is None:
        name = session.open(which, task).info.name
        raise NothingFound(
            f"run {name} did not write the line {shorten(line.strip(), 80)!r}; select the run that did, or record one with "
            "`clew run`"
        )
    found = written.found
    events = tuple(one.event for one in found.events)
    title = event_title(written.run.graph, written.event)
    return Found(written.run, events if every else events[:1], title, found.count, found.events[0].reasons)


def _source_line(session: Session, run: Run, location: Location, task: Task, direction: Direction) -> Found:
    """Return the newest log line that the location wrote, else the last call of the function around it."""
    graph = run.graph
    location = replace(location, path=_recorded_path(graph, location.path))
    key = same_file_key(location.path)
    there = places(session, run.folder, location.path)
    recorded = there.recorded_line(location.line)
    # Without the text that ran, a line counts as the recorded one unless it is known to have changed.
    line = 0 if recorded.state == "stale" and there.recorded is not None else recorded.line
    sites = [
        index
        for index, site in enumerate(graph.sites)
        if site.kind == "log" and site.line == line and site.file and same_file_key(site.file) == key
    ]
    logs = by_time(graph, np.flatnonzero(np.isin(graph.site, sites) & (graph.kind == Kind.LOG))) if sites else []
    if logs:
        return Found(run, (logs[0],), event_title(graph, logs[0]), len(logs))
    table = session.functions(which_of(run), task)
    function = function_at(table, there, location.line)
    if function is None:
        inside = "" if there.text is None or there.now is not None else " (the file does not parse at the moment)"
        raise NothingFound(
            f"{location.path}:{location.line}: run {run.info.name} has no call of a function there{inside}; "
            + (f"it recorded {units.count(len(table.in_file(location.path)), 'function')} of the file"
               if table.in_file(location.path) else _files_there(graph, location.path))
        )  # fmt: skip
    with task.interruptible():
        calls = calls_of(graph, [function.site], direction)
    if not len(calls):
        raise NothingFound(f"{units.short_label(function.label)} was never called in run {run.info.name}")
    newest = int(calls[np.argmax(graph.ts[calls])])
    return Found(run, (newest,), f"last call of {units.short_label(function.label)}", len(calls))


def _files_there(graph: ExecutionGraph, path: str) -> str:
    """Return the error that nothing was recorded of a file, with the recorded files, those with similar names first."""
    files = Counter(site.file for site in graph.sites if site.file and not site.is_adapter)
    if not files:
        return "it recorded no function of any file"
    names = {Path(file).name for file in files}
    near = difflib.get_close_matches(Path(path).name, sorted(names), len(names))
    ranked = sorted(files, key=lambda file: (Path(file).name not in near, -files[file], file))
    shown = ", ".join(units.place(file, 0) for file in ranked[:SHOWN_FILES])
    more = f" and {len(ranked) - SHOWN_FILES:,} more" if len(ranked) > SHOWN_FILES else ""
    return f"it recorded no function of the file, only of {shown}{more}"


def _recorded_path(graph: ExecutionGraph, path: str) -> str:
    """Return the recorded file for a path. A path that is not a file matches the only recorded file that ends with it."""
    if Path(path).exists():
        return path
    from clew.graph.ops.find_events import same_file

    found = {site.file for site in graph.sites if same_file(site.file, path)}
    return found.pop() if len(found) == 1 else path


def _function(session: Session, run: Run, label: str, task: Task, direction: Direction) -> Found:
    graph = run.graph
    sites = [index for index, site in enumerate(graph.sites) if site.label == label]
    with task.interruptible():
        calls = calls_of(graph, sites, direction)
    if not len(calls):
        known = [function.label for function in session.functions(which_of(run), task).by_site.values()]
        near = difflib.get_close_matches(label, known, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise NothingFound(f"run {run.info.name} has no call of {label}{hint}{but(run)}")
    newest_first = calls[np.argsort(-graph.ts[calls], kind="stable")]
    title = f"{units.count(len(calls), 'call')} of {units.short_label(label)}"
    return Found(run, tuple(int(event) for event in newest_first), title, len(calls))


def _failed_test(run: Run, asked: str) -> Found:
    from clew.compare.failures.node_ids import UnknownTest, find_node
    from clew.compare.failures.recorded_tests import tests_of

    tests = tests_of(run)
    failed = {tests.nodes[test] for test in np.flatnonzero(tests.failed).tolist()}
    try:
        node = find_node(tests.nodes, asked, failed)
    except UnknownTest as unknown:
        raise NothingFound(str(unknown)) from None
    found = last_error(run.graph, node) if node in failed else None
    if found is None:
        outcome = tests.outcomes[tests.nodes.index(node)] or "did not end"
        others = f"; failed: {units.listed(sorted(failed)[:NEAR_MATCHES])}" if failed else "; no test failed"
        more = f" and {len(failed) - NEAR_MATCHES:,} more" if len(failed) > NEAR_MATCHES else ""
        raise NothingFound(f"{node} {outcome} in run {run.info.name}, so there is no failure to explain{others}{more}")
    return Found(
        run, (found[0],), f"{event_title(run.graph, found[0])}: the last error of {node}, which failed", test=node
    )


def _newest_trouble(run: Run) -> Found:
    """Return the last error of the newest failed test, else the newest of the error lines (logged or printed) and of the
    exceptions that ended a thread, a task or the program without an error line of their own, else the newest warning.
    Otherwise, for a failed program, return the exception that left its outermost call last, else the end of the last
    request, else the last event."""
    from clew.graph.model.event import ERROR, WARNING
    from clew.graph.ops.facts.facts import Facts
    from clew.graph.ops.facts.lost_strands import uncaught
    from clew.graph.ops.find_events import find_logs

    graph = run.graph
    if not len(graph):
        raise NothingFound(nothing_recorded(run))
    of_test = last_error(graph) if run.info.exit_code != 0 else None
    if of_test is not None:
        event, name = of_test
        title = f"{event_title(graph, event)}: the last error of {name}, which failed"
        return Found(run, (event,), title, test=name)
    for least in (ERROR, WARNING):
        found = by_time(graph, find_logs(graph, level=least))
        if least == ERROR:
            logged = {graph.at("strand", event) for event in found}
            silent = [fact.row for fact in uncaught(Facts.of(graph)) if fact.strand not in logged]
            found = by_time(graph, np.array([*found, *silent, *_printed_errors(graph)], np.int64))
        if found:
            return Found(run, (found[0],), event_title(graph, found[0]), len(found))
    failed = run.info.exit_code not in (0, None)
    if failed:
        raised = graph.rows_of([Kind.UNWIND])
        outermost = by_time(
            graph, raised[[graph.enclosing_call(int(event)) < 0 for event in raised]] if len(raised) else raised
        )
        if outermost:
            title = f"{event_title(graph, outermost[0])}: the last exception, {_ended(run)}"
            return Found(run, (outermost[0],), title, len(outermost))
    why = _ended(run) if failed else "as nothing failed"
    requests = by_time(graph, graph.rows_of([Kind.REQUEST]))
    if requests:
        end = graph.exit_of(graph.call_of(requests[0])) if graph.call_of(requests[0]) >= 0 else -1
        event = end if end >= 0 else requests[0]
        return Found(run, (event,), f"{event_title(graph, requests[0])}: the newest request, {why}", len(requests))
    last = int(np.argmax(graph.ts))
    return Found(run, (last,), f"{event_title(graph, last)}: the last event, {why}")


def _printed_errors(graph: ExecutionGraph) -> list[int]:
    """Return the printed error lines. A traceback's exception is an event itself."""
    from clew.graph.ops.find_events import is_printed_error

    return [row for row in graph.rows_of([Kind.OUTPUT]).tolist() if is_printed_error(graph, row)]


def _ended(run: Run) -> str:
    return f"as the program ended with {run.info.exit_code}"


def calls_of(graph: ExecutionGraph, sites: list[int], direction: Direction) -> np.ndarray:
    """Return where calls of these sites end (backward: all causes of the call's outcome) or begin (forward)."""
    mine = np.isin(graph.site[graph.calls.enter], sites)
    enter, end = graph.calls.enter[mine], graph.calls.exit[mine]
    return enter if direction == "forward" else np.where(end >= 0, end, enter)


def by_time(graph: ExecutionGraph, events: object) -> list[int]:
    """Return the events, newest first."""
    rows = np.asarray(events, np.int64)
    return [int(event) for event in rows[np.argsort(-graph.ts[rows], kind="stable")]]


def but(run: Run) -> str:
    """Return possible reasons why the target was not found: damage, or a process that died."""
    return "".join(f"; but {units.within(run.folder, problem.what)}" for problem in run.problems[:1])


def nothing_recorded(run: Run) -> str:
    why = "; ".join(units.within(run.folder, problem.what) for problem in run.problems[:2])
    return f"run {run.info.name} recorded no event" + (f": {why}" if why else "")
