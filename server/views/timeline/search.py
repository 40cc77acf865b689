"""The timeline's search in the whole run: the number of matches, and the next or previous one."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

from clew.graph.ops.timeline.search import Finder
from clew.query.api import Run
from clew.server.protocol.views.timeline import TimelineMatch, TimelineSearchParams, TimelineSearchResult
from clew.server.session.session import Session, Task
from clew.server.views.timeline.view import call_of, open_timeline

MOST_TEXT = 300
"""Maximum characters of a log line."""

_FINDERS: WeakKeyDictionary[Run, Finder] = WeakKeyDictionary()
_LOCK = threading.Lock()


def timeline_search(session: Session, params: TimelineSearchParams, task: Task) -> TimelineSearchResult:
    run, timeline = open_timeline(session, params.run, task)
    task.phase("searching the run")
    with task.hold(_LOCK):
        finder = _FINDERS.setdefault(run, Finder(run.graph, timeline))
        with task.interruptible():
            found = finder.find(params.text.strip(), params.by, int(params.ns), params.event)
    match = found.match
    return TimelineSearchResult(
        run=run.info.id,
        functions=found.functions,
        calls=found.calls,
        logs=found.logs,
        match=match
        and TimelineMatch(
            place=match.place,
            ns=float(match.ns),
            event=match.event,
            strand=match.strand,
            call=match.spot and call_of(run.graph, timeline, match.spot),
            text=_line(run, match.event) if match.is_log else "",
        ),
    )


def _line(run: Run, event: int) -> str:
    text = run.graph.text(event)
    return text if len(text) <= MOST_TEXT else text[: MOST_TEXT - 1] + "…"
