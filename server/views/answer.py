"""The answers to *why* of one event, and of all errors of a run by their cause."""

from __future__ import annotations

from functools import partial

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.answer.answer import answer
from clew.graph.ops.answer.error_groups import ErrorGroup, error_before, group_errors
from clew.server.protocol.views.answer import ErrorCause, ErrorCauses, Verdict
from clew.server.text import units
from clew.server.text.answer import tell_edge, verdict_of


def verdict(graph: ExecutionGraph, event: int, baseline: ExecutionGraph | None = None) -> Verdict:
    """Return the answer to why an event happened, as data. `baseline` is the run that shows what is usual, if any."""
    return verdict_of(graph, answer(graph, event, partial(tell_edge, graph), baseline))


def error_verdict(graph: ExecutionGraph, event: int) -> Verdict | None:
    """Return the answer for an error: the event itself, or the newest error that its request logged before it; else None."""
    error = error_before(graph, event)
    return verdict(graph, error) if error >= 0 else None


def error_causes(graph: ExecutionGraph) -> ErrorCauses:
    """Return the errors of a run, grouped by cause, the most frequent cause first."""
    groups, omitted = group_errors(graph, partial(tell_edge, graph))
    return ErrorCauses(_counted(groups), [_cause(graph, group) for group in groups], omitted)


def _cause(graph: ExecutionGraph, group: ErrorGroup) -> ErrorCause:
    return ErrorCause(
        group.count,
        group.answered,
        float(group.first_ns),
        float(group.last_ns),
        group.newest,
        verdict_of(graph, group.answer),
    )


def _counted(groups: list[ErrorGroup]) -> str:
    """Return `40 ERROR lines and 1 uncaught exception, 3 causes`."""
    logs, raised, printed = (sum(getattr(group, name) for group in groups) for name in ("logs", "raised", "printed"))
    parts = [units.count(logs, "ERROR line")] if logs else []
    parts += [units.count(raised, "uncaught exception")] if raised else []
    parts += [units.count(printed, "printed line")] if printed else []
    if not parts:
        return "no error was recorded"
    return f"{units.listed(parts)}, {units.count(len(groups), 'cause')}"
