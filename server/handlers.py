"""One table from a method's name to what answers it; the language server and HTTP both go through `answer`.

Invariant: everything in `protocol.METHODS` has a handler here and nothing else has, and `answer` takes and gives plain JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from clew.server import protocol
from clew.server.aside import answered
from clew.server.codec import RequestError, decode, encode
from clew.server.session import Session, Task

Handler = Callable[[Session, Any, Task], object]


def _runs(session: Session, params: protocol.RunsParams, _task: Task) -> protocol.RunsResult:
    from clew.server.relay.finding import elsewhere

    found = session.runs()
    return replace(found, elsewhere=elsewhere(session.workspace)) if params.elsewhere else found


def _select_run(session: Session, params: protocol.SelectRunParams, _task: Task) -> protocol.RunsResult:
    return session.select(params.run)


def _choose_baseline(session: Session, params: protocol.ChooseBaselineParams, _task: Task) -> protocol.RunsResult:
    return session.choose_baseline(params.run)


def _slice(session: Session, params: protocol.SliceParams, task: Task) -> protocol.SliceResult:
    from clew.server.panel.slice import slice_view

    return slice_view(session, params, task)


def _critical_path(session: Session, params: protocol.CriticalPathParams, task: Task) -> protocol.CriticalPathResult:
    from clew.server.panel.critical_path import critical_path_view

    return critical_path_view(session, params, task)


def _what_if(session: Session, params: protocol.WhatIfParams, task: Task) -> protocol.WhatIfResult:
    from clew.server.panel.critical_path import what_if_view

    return what_if_view(session, params, task)


def _diff(session: Session, params: protocol.DiffParams, task: Task) -> protocol.DiffResult:
    from clew.server.panel.diff import diff_view

    runs = params.before, params.after, *params.alsoBefore, *params.alsoAfter
    return answered(session, runs, task, diff_view, params)


def _compare(session: Session, params: protocol.CompareParams, task: Task) -> protocol.CompareResult:
    from clew.server.panel.compare import compare_view
    from clew.server.panel.compare_sides import whole_runs

    return answered(session, whole_runs(session, params), task, compare_view, params)


def _localize(session: Session, params: protocol.LocalizeParams, task: Task) -> protocol.LocalizeResult:
    from clew.server.panel.localize import localize_view

    return answered(session, (*params.suspect, *params.reference), task, localize_view, params)


def _patterns(session: Session, params: protocol.PatternsParams, task: Task) -> protocol.PatternsResult:
    from clew.server.panel.patterns import patterns_view

    return patterns_view(session, params, task)


def _pattern_times(session: Session, params: protocol.PatternTimesParams, task: Task) -> protocol.PatternTimesResult:
    from clew.server.panel.pattern_looks import pattern_times

    return pattern_times(session, params, task)


def _pattern_occurrence(
    session: Session, params: protocol.PatternOccurrenceParams, task: Task
) -> protocol.PatternOccurrenceResult:
    from clew.server.panel.pattern_looks import pattern_occurrence

    return pattern_occurrence(session, params, task)


def _pattern_diagram(session: Session, params: protocol.PatternsParams, task: Task) -> protocol.PatternDiagram:
    from clew.server.panel.pattern_looks import pattern_diagram

    return pattern_diagram(session, params, task)


def _aggregate(session: Session, params: protocol.AggregateParams, task: Task) -> protocol.AggregateResult:
    from clew.server.panel.aggregate import aggregate_view

    return aggregate_view(session, params, task)


def _timeline(session: Session, params: protocol.TimelineParams, task: Task) -> protocol.TimelineResult:
    from clew.server.panel.timeline import timeline_view

    return timeline_view(session, params, task)


def _timeline_tile(session: Session, params: protocol.TimelineTileParams, task: Task) -> protocol.TimelineTileResult:
    from clew.server.panel.timeline import timeline_tile

    return timeline_tile(session, params, task)


def _timeline_arrows(
    session: Session, params: protocol.TimelineArrowsParams, task: Task
) -> protocol.TimelineArrowsResult:
    from clew.server.panel.timeline import timeline_arrows

    return timeline_arrows(session, params, task)


def _timeline_call(session: Session, params: protocol.TimelineCallParams, task: Task) -> protocol.TimelineCallResult:
    from clew.server.panel.timeline import timeline_call

    return timeline_call(session, params, task)


def _timeline_search(
    session: Session, params: protocol.TimelineSearchParams, task: Task
) -> protocol.TimelineSearchResult:
    from clew.server.panel.timeline_search import timeline_search

    return timeline_search(session, params, task)


def _entities(session: Session, params: protocol.EntitiesParams, task: Task) -> protocol.EntitiesResult:
    from clew.server.panel.entities import entities_view

    return entities_view(session, params, task)


def _entity_events(session: Session, params: protocol.EntityEventsParams, task: Task) -> protocol.EntityEventsResult:
    from clew.server.panel.entities import entity_events

    return entity_events(session, params, task)


def _entity(session: Session, params: protocol.EntityParams, task: Task) -> protocol.EntityResult:
    from clew.server.panel.entities import entity

    return entity(session, params, task)


def _walk(session: Session, params: protocol.WalkParams, task: Task) -> protocol.WalkResult:
    from clew.server.panel.walk import walk_view

    return walk_view(session, params, task)


def _locate(session: Session, params: protocol.LocateParams, task: Task) -> protocol.LocateResult:
    from clew.server.panel.locate import locate

    return locate(session, params, task)


def _present(session: Session, params: protocol.PresentParams, _task: Task) -> protocol.PresentResult:
    from clew.server.panel.locate import present

    return present(session, params)


def _source(session: Session, params: protocol.SourceParams, task: Task) -> protocol.SourceResult:
    from clew.server.panel.source import source

    return source(session, params, task)


def _recordables(session: Session, params: protocol.RecordableParams, _task: Task) -> protocol.RecordableResult:
    from clew.server.recordable import recordables

    return recordables(session, params)


def _progress(session: Session, params: protocol.ProgressParams, task: Task) -> protocol.ProgressResult:
    from clew.server.recording_progress import progress

    return progress(session, params, task)


def _wizard(session: Session, params: protocol.WizardParams, task: Task) -> protocol.WizardResult:
    from clew.server.panel.wizard import whole_runs, wizard

    return answered(session, whole_runs(session, params), task, wizard, params)


def _views(session: Session, params: protocol.ViewsParams, task: Task) -> protocol.ViewsResult:
    from clew.server.panel.own import own_views

    return own_views(session, params, task)


def _sql(session: Session, params: protocol.SqlParams, task: Task) -> protocol.SqlResult:
    from clew.server.panel.own import sql

    return sql(session, params, task)


def _recognise(session: Session, params: protocol.RecogniseParams, task: Task) -> protocol.RecogniseResult:
    from clew.server.panel.recognise import recognise

    return recognise(session, params, task)


# The views load the graph and its libraries, which a server that only lists runs can do without.
HANDLERS: dict[str, Handler] = {
    "clew/runs": _runs,
    "clew/selectRun": _select_run,
    "clew/chooseBaseline": _choose_baseline,
    "clew/slice": _slice,
    "clew/criticalPath": _critical_path,
    "clew/whatIf": _what_if,
    "clew/diff": _diff,
    "clew/compare": _compare,
    "clew/localize": _localize,
    "clew/patterns": _patterns,
    "clew/patternTimes": _pattern_times,
    "clew/patternOccurrence": _pattern_occurrence,
    "clew/patternDiagram": _pattern_diagram,
    "clew/aggregate": _aggregate,
    "clew/timeline": _timeline,
    "clew/timelineTile": _timeline_tile,
    "clew/timelineArrows": _timeline_arrows,
    "clew/timelineCall": _timeline_call,
    "clew/timelineSearch": _timeline_search,
    "clew/entities": _entities,
    "clew/entityEvents": _entity_events,
    "clew/entity": _entity,
    "clew/walk": _walk,
    "clew/locate": _locate,
    "clew/present": _present,
    "clew/source": _source,
    "clew/views": _views,
    "clew/sql": _sql,
    "clew/recognise": _recognise,
    "clew/recordables": _recordables,
    "clew/progress": _progress,
    "clew/wizard": _wizard,
}


def answer(session: Session, method: str, params: object, task: Task | None = None) -> Any:
    """The result as JSON data. Raises `ClewError` with a sentence for the user, `RequestError` for a request that is
    malformed or unknown, `Cancelled` when `task` was cancelled."""
    if method not in HANDLERS:
        raise RequestError(f"there is no method {method!r}; there are {', '.join(sorted(HANDLERS))}")
    request, _ = protocol.METHODS[method]
    found = encode(HANDLERS[method](session, decode(request, params if params is not None else {}), task or Task()))
    # Not where nobody waits any more: the worker is wanted.
    session.let_go()
    return found
