"""Suspects for the differences between the requests of runs, or between anomalous requests and the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from clew.compare.localize.evidence import Evidence
from clew.compare.localize.ranking import Localization, Suspect, Thresholds, localize
from clew.compare.localize.visits import is_recorded
from clew.graph.ops.flows.flows import Flows
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from clew.server.protocol.shared import Location
from clew.server.protocol.views.localize import (
    LocalizeCluster,
    LocalizeEvidence,
    LocalizeParams,
    LocalizeResult,
    LocalizeSuspect,
)
from clew.server.session.answer_process import answered
from clew.server.session.session import Session, Task
from clew.server.views.compare.sides import there_are

if TYPE_CHECKING:
    from clew.query.api import Run

MAX_SUSPECTS = 500
MAX_CLUSTERS = 100
"""Maximum number of clusters, the largest ones."""
MAX_TEXT = 400
"""Maximum characters of a message."""


def localize_view(session: Session, params: LocalizeParams, task: Task) -> LocalizeResult:
    """Raises `ClewError` for an unknown run or request."""
    if not params.suspect:
        raise ClewError("name a run to search for suspects")
    sides = [[session.snapshot(name, task) for name in names] for names in (params.suspect, params.reference)]
    for runs in sides:
        _refuse_logs_alone(runs)
    task.phase("following requests")
    names = [params.request] if params.request else None
    with task.interruptible():
        suspect, reference = (Flows.of(runs, names=names) if runs else None for runs in sides)
    assert suspect is not None
    if params.request and not len(suspect):
        there = there_are(Flows.of(sides[0]).names)
        raise ClewError(f"no suspect run has a request named {params.request!r}; {there}")
    task.phase("comparing")
    with task.interruptible():
        found = localize(suspect, reference, Thresholds(**asdict(params.thresholds)))
    limit = max(1, min(params.maxSuspects, MAX_SUSPECTS))
    clusters = _clusters(found)
    return LocalizeResult(
        suspect=[session.ref(run) for run in sides[0]],
        reference=[session.ref(run) for run in sides[1]],
        sentence=found.sentence(),
        explanation=found.explain(),
        thresholds=params.thresholds,
        requestsSuspect=found.suspect,
        requestsReference=found.reference,
        suspects=[_suspect(found, number, one) for number, one in enumerate(found.suspects[:limit], 1)],
        hiddenSuspects=max(len(found.suspects) - limit, 0),
        clusters=clusters[:MAX_CLUSTERS],
        hiddenClusters=max(len(clusters) - MAX_CLUSTERS, 0),
        message=_message(sides, suspect, reference),
    )


def _refuse_logs_alone(runs: Sequence[Run]) -> None:
    """Raise `ClewError` for an imported file without requests next to others: probably the logs of another file."""
    logs = [run for run in runs if not len(run.graph.rows_of([Kind.REQUEST])) and not is_recorded(run)]
    if logs and len(logs) < len(runs):
        names = " and ".join(run.info.name for run in logs)
        raise ClewError(
            f"{names} has no requests, so it would not be compared. If it has the logs of another file, join the names of both "
            "files with a comma: SPANS,LOGS"
        )


def _message(sides: Sequence[Sequence[Run]], suspect: Flows, reference: Flows | None) -> str:
    empty = [
        run.info.name
        for runs, flows in zip(sides, (suspect, reference), strict=True)
        if flows is not None and not len(flows)
        for run in runs
    ]
    if empty:
        return (
            f"There are no requests in {' and '.join(sorted(set(empty)))}. Mark the function that a request begins with in the "
            "spec: `request MODULE:FUNCTION as NAME;`"
        )
    if {run.folder for run in sides[0]} == {run.folder for run in sides[1]}:
        return "Both sides are the same; choose another run as the reference, or none."
    return ""


def _suspect(found: Localization, rank: int, suspect: Suspect) -> LocalizeSuspect:
    evidence = [_evidence(found, piece) for piece in suspect.evidence]
    return LocalizeSuspect(
        rank=rank,
        place=suspect.place,
        score=suspect.score,
        kind=suspect.kind,
        sentence=_short(suspect.sentence()),
        service=suspect.service,
        method=suspect.method,
        caller=suspect.caller,
        instance=suspect.instance,
        sinceNs=suspect.since_ns,
        evidence=evidence,
        location=evidence[0].location,
    )


def _evidence(found: Localization, piece: Evidence) -> LocalizeEvidence:
    run, event, location, span = "", None, None, None
    if piece.call >= 0:
        flows = found.flows
        request = int(flows.of_call(np.array([piece.call]))[0])
        of = flows.runs[int(flows.run[request])]
        run, event = of.info.id, int(flows.event[piece.call])
        place = of.graph.location(event)
        location = Location(*place) if place else None
        begin = of.graph.at("ts", event)
        span = float(begin), float(begin + flows.total_ns[piece.call])
    return LocalizeEvidence(
        kind=piece.kind,
        bits=piece.bits,
        sentence=_short(piece.sentence()),
        service=piece.service,
        method=piece.method,
        caller=piece.caller,
        instance=piece.instance,
        text=_short(piece.text),
        before=piece.before,
        after=piece.after,
        samplesBefore=piece.samples_before,
        samplesAfter=piece.samples_after,
        p=piece.p,
        run=run,
        event=event,
        fromNs=span[0] if span else None,
        toNs=span[1] if span else None,
        location=location,
    )


def _clusters(found: Localization) -> list[LocalizeCluster]:
    splits = found.residuals.splits if found.residuals is not None else ()
    return [
        LocalizeCluster(
            requests=len(split.cluster.requests),
            calls=len(split.cluster.sequence),
            merged=split.cluster.merged,
            method=split.method,
            why=split.why,
            anomalous=int(split.anomalous.sum()),
        )
        for split in splits
    ]


def _short(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


def localize_runs(session: Session, params: LocalizeParams, task: Task) -> LocalizeResult:
    """Answer `localize_view`, in a worker process where the runs are large."""
    return answered(session, (*params.suspect, *params.reference), task, localize_view, params)
