"""One table from a method's name to what answers it; the language server and HTTP both go through `answer`.

Invariant: everything in `protocol.METHODS` has a handler here and nothing else has, and `answer` takes and gives plain JSON.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

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


def _present(session: Session, params: protocol.PresentParams, _task: Task) -> protocol.PresentResult:
    from clew.server.panel.locate import present

    return present(session, params)


def _recordables(session: Session, params: protocol.RecordableParams, _task: Task) -> protocol.RecordableResult:
    from clew.server.recordable import recordables

    return recordables(session, params)


def _wizard(session: Session, params: protocol.WizardParams, task: Task) -> protocol.WizardResult:
    from clew.server.panel.wizard import whole_runs, wizard

    return answered(session, whole_runs(session, params), task, wizard, params)


# A view loads the graph and its libraries, which a server that only lists runs can do without.
HANDLERS: dict[str, Handler | str] = {
    "clew/runs": _runs,
    "clew/selectRun": _select_run,
    "clew/chooseBaseline": _choose_baseline,
    "clew/slice": "panel.slice:slice_view",
    "clew/criticalPath": "panel.critical_path:critical_path_view",
    "clew/whatIf": "panel.critical_path:what_if_view",
    "clew/diff": _diff,
    "clew/compare": _compare,
    "clew/localize": _localize,
    "clew/patterns": "panel.patterns:patterns_view",
    "clew/patternTimes": "panel.pattern_looks:pattern_times",
    "clew/patternOccurrence": "panel.pattern_looks:pattern_occurrence",
    "clew/patternDiagram": "panel.pattern_looks:pattern_diagram",
    "clew/aggregate": "panel.aggregate:aggregate_view",
    "clew/timeline": "panel.timeline:timeline_view",
    "clew/timelineTile": "panel.timeline:timeline_tile",
    "clew/timelineArrows": "panel.timeline:timeline_arrows",
    "clew/timelineCall": "panel.timeline:timeline_call",
    "clew/timelineSearch": "panel.timeline_search:timeline_search",
    "clew/entities": "panel.entities:entities_view",
    "clew/entityEvents": "panel.entities:entity_events",
    "clew/entity": "panel.entities:entity",
    "clew/entityOrigin": "panel.entity_origin:entity_origin",
    "clew/walk": "panel.walk:walk_view",
    "clew/locate": "panel.locate:locate",
    "clew/present": _present,
    "clew/source": "panel.source:source",
    "clew/views": "panel.own:own_views",
    "clew/sql": "panel.own:sql",
    "clew/recognise": "panel.recognise:recognise",
    "clew/recordables": _recordables,
    "clew/progress": "recording_progress:progress",
    "clew/wizard": _wizard,
}
"""A function, or where one is that is loaded when it is first asked for: its module in `clew.server`, and its name."""


def handler(method: str) -> Handler:
    """Raises `RequestError` for a method that is unknown."""
    if method not in HANDLERS:
        raise RequestError(f"there is no method {method!r}; there are {', '.join(sorted(HANDLERS))}")
    found = HANDLERS[method]
    if not isinstance(found, str):
        return found
    module, _, name = found.partition(":")
    return cast(Handler, getattr(importlib.import_module(f"clew.server.{module}"), name))


def answer(session: Session, method: str, params: object, task: Task | None = None) -> Any:
    """The result as JSON data. Raises `ClewError` with a sentence for the user, `RequestError` for a request that is
    malformed or unknown, `Cancelled` when `task` was cancelled."""
    handle = handler(method)
    request, _ = protocol.METHODS[method]
    found = encode(handle(session, decode(request, params if params is not None else {}), task or Task()))
    # Not where nobody waits any more: the worker is wanted.
    session.let_go()
    return found
