"""Where to look: one ranked list of suspects from all kinds of evidence, with the reason for each.

A suspect is a place (a service, or in a run of one service a function) with what speaks against it: time of its own (work and
waiting apart), slow ways to it, one instance slower than its like, calls new or missing, errors, words in logs. Its score is in
bits: doublings of time, at `time` bits each, and surprise at what it does. A fault seldom begins with the first request that is
recorded: bits are the mean over the instants that it may have begun at. Invariant: significance is a weight, never a gate;
time that a callee explains, and behaviour that an earlier surprise explains, counts for nobody else.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from clew.compare.answer import Shown
from clew.compare.localize.behaviour_evidence import find_behaviour
from clew.compare.localize.evidence import Evidence, Subject
from clew.compare.localize.instance_evidence import find_instances
from clew.compare.localize.latency_evidence import find_slowness
from clew.compare.localize.pca_outliers import Residuals, find_residuals
from clew.compare.localize.visits import two_sides
from clew.compare.stats.tests import I64
from clew.compare.stats.thresholds import Bounded, bounded, fraction
from clew.graph.ops.diff import duration
from clew.graph.ops.flows.flows import Flows
from clew.graph.render.table import Table, table_of

ONSETS = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)
"""Where in its run a fault may begin, as shares of the time from the first request to the last."""
LEAST_AFTER = 5
"""Requests after an instant, or it is none that a fault is looked for from."""
SINCE = 1.25
"""How many times the bits of all requests those after an instant must have, to say that it began there."""


@dataclass(frozen=True)
class Thresholds(Bounded):
    """The weights of evidence; `explain()` describes them in plain words."""

    time: float = bounded(2.0)
    """Bits per doubling of time: behaviour yields more bits of surprise than time has doublings."""
    half: float = bounded(3.0, above=True)
    """Bits of certain difference at which a difference is trusted by half."""
    floor: float = fraction(0.05)
    """Growth is measured against a place's own time plus this share of the whole request's time. A short place therefore counts
    little, however many times longer it takes."""
    pieces: int = bounded(4, 1)
    """Maximum number of items of evidence per suspect, for time and for behaviour each."""
    most: int = bounded(10_000, 1)
    """Maximum number of requests per side; from larger sides this many evenly spaced requests are taken."""
    least: float = bounded(0.05)
    """Bits below which a place is not a suspect."""
    alpha: float = fraction(0.75)
    """Without a reference: the share of requests in major clusters."""
    variance: float = fraction(0.95)
    """Without a reference: the share of variance that counts as normal (principal components)."""
    confidence: float = fraction(0.999)
    """Without a reference: the confidence of the threshold beyond which a request is anomalous."""

    def explain(self) -> str:
        return (
            f"Suspects are ranked by bits: {self.time:g} for each doubling of a request's time through the place's own time, "
            f"plus the surprise at calls, errors and log words that appeared or disappeared. Each item is weighted by the "
            f"certainty of its difference: by half at {self.half:g} bits (odds of {2**self.half:,.0f} to 1), by less below; "
            f"uncertain items are never dropped. Growth is measured against the place's time plus {self.floor:.0%} of its "
            f"requests' time. Time that callees explain counts for the callees. Behaviour that an earlier surprise in the "
            f"same request explains counts for the place of that surprise. The start of the problem is unknown, so bits are "
            f"the mean over {len(ONSETS)} instants of the run, each with the requests after it."
        )


@dataclass(frozen=True)
class Suspect:
    """One suspect place, described by its strongest evidence."""

    place: str
    """A service, or a function if there is only one service."""
    score: float
    """Bits."""
    kind: Subject
    """The subject of the first item of evidence."""
    service: str
    method: str
    caller: str
    """The start of the edge to the method, or its caller; "" at a root."""
    instance: str
    since_ns: int | None
    """The time after the first suspect request from which there is clearly more evidence than over the whole run; None for the
    whole run."""
    evidence: tuple[Evidence, ...]
    """Strongest first, computed from the requests since then."""

    def sentence(self) -> str:
        said = self.evidence[0].sentence()
        said = said if self.place in said else f"{self.place}: {said}"
        return (
            said
            if self.since_ns is None
            else f"{said}, starting {duration(self.since_ns)} after the first suspect request"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Localization(Shown):
    suspects: tuple[Suspect, ...]
    """Likeliest first; contains each service, or each function of a single service, once."""
    thresholds: Thresholds
    reference: int
    suspect: int
    """Number of requests."""
    services: int
    residuals: Residuals | None
    """Without a reference: the separation of anomalous requests from normal ones."""
    flows: Flows
    """The examined suspect requests, to which the calls of the evidence belong."""

    def sentence(self) -> str:
        if self.residuals is not None:
            said = self.residuals.sentence()
            first = (
                f"first suspect: {self.suspects[0].sentence()}"
                if self.suspects
                else "no suspect: no place differs noticeably"
            )
            return f"{said}; {first}"
        of = f"of {self.suspect:,} requests against {self.reference:,}"
        if not self.suspects:
            return f"no suspect: no place differs noticeably {of}"
        return f"first suspect {of}: {self.suspects[0].sentence()}"

    def explain(self) -> str:
        return self.thresholds.explain()

    def table(self) -> Table:
        """A row per suspect."""
        return table_of(self.suspects, ("place", "score", "kind", "service", "method", "caller", "instance"))

    def to_json(self) -> dict[str, Any]:
        return {
            "sentence": self.sentence(),
            "explanation": self.explain(),
            "thresholds": asdict(self.thresholds),
            "reference": self.reference,
            "suspect": self.suspect,
            "suspects": [asdict(suspect) for suspect in self.suspects],
            "clusters": [
                {
                    "requests": len(split.cluster.requests),
                    "calls": len(split.cluster.sequence),
                    "merged": split.cluster.merged,
                    "method": split.method,
                    "why": split.why,
                    "anomalous": int(split.anomalous.sum()),
                }
                for split in (self.residuals.splits if self.residuals is not None else ())
            ],
        }


def localize(
    suspect: Flows, reference: Flows | None = None, thresholds: Thresholds | None = None, **options: float
) -> Localization:
    """The suspects for what is different in some requests from a reference; without one, in those of them that are anomalous
    from the others. `options` are thresholds. Raises `QueryError` for one that there is not."""
    chosen = (thresholds or Thresholds()).having(options)
    residuals = None
    suspect = _thinned(suspect, int(chosen.most))
    if reference is None:
        residuals = find_residuals(suspect, alpha=chosen.alpha, variance=chosen.variance, confidence=chosen.confidence)
        odd = residuals.anomalous
        reference, suspect = suspect.take(~odd), suspect.take(odd)
    else:
        reference = _thinned(reference, int(chosen.most))
    suspects: list[Suspect] = []
    if len(reference) and len(suspect):
        # What is anomalous in a run is so whenever it was.
        later = [np.arange(len(suspect))] if residuals is not None else _later(suspect)
        parts = [_found(reference, suspect.take(requests), chosen) for requests in later]
        places = {place for part in parts for place in part}
        scores = {place: sum(part[place].score for part in parts if place in part) / len(parts) for place in places}
        for place in sorted(places, key=lambda place: (-scores[place], place)):
            if scores[place] < chosen.least:
                break
            suspects.append(_suspect(place, scores[place], parts, later, suspect))
    services = len(two_sides(reference, suspect).services)
    return Localization(tuple(suspects), chosen, len(reference), len(suspect), services, residuals, suspect)


def _later(suspect: Flows) -> list[I64]:
    """Per instant that a fault may have begun at, in each run, the requests after it; at first all."""
    start = suspect.start_ns.astype(np.float64)
    low, high = np.full((2, len(suspect.runs)), np.inf)
    np.minimum.at(low, suspect.run, start)
    np.minimum.at(high, suspect.run, -start)
    done = ((start - low[suspect.run]) / np.maximum(-high - low, 1.0)[suspect.run]).clip(0, 1)
    parts = [np.flatnonzero(done >= onset) for onset in ONSETS]
    return [part for part in parts if len(part) >= LEAST_AFTER] or parts[:1]


class _Place(NamedTuple):
    score: float
    pieces: list[Evidence]
    """The strongest first."""


def _found(reference: Flows, suspect: Flows, thresholds: Thresholds) -> dict[str, _Place]:
    """Places with what speaks against them in these requests."""
    sides = two_sides(reference, suspect)
    slow = find_slowness(sides, half=thresholds.half, floor=thresholds.floor, most=int(thresholds.pieces))
    odd_ones = find_instances(sides, half=thresholds.half, floor=thresholds.floor)
    behaviour = find_behaviour(sides, half=thresholds.half, most=int(thresholds.pieces))
    score = thresholds.time * np.maximum(slow.bits, odd_ones.bits) + behaviour.bits
    found = {}
    for place in np.flatnonzero(score > 0).tolist():
        pieces = [*slow.evidence.get(place, ())]
        if place in odd_ones.evidence:
            pieces.append(odd_ones.evidence[place])
        pieces = [replace(piece, bits=thresholds.time * piece.bits) for piece in pieces]
        pieces += behaviour.evidence.get(place, ())
        if pieces:
            pieces.sort(key=lambda piece: -piece.bits)
            found[sides.places[place]] = _Place(float(score[place]), pieces)
    return found


_SUBJECTS: dict[str, Subject] = {
    "work": "method", "waiting": "method", "edge": "edge", "instance": "instance", "call": "method", "error": "log",
    "log": "log",
}  # fmt: skip


def _suspect(place: str, score: float, parts: list[dict[str, _Place]], later: list[I64], suspect: Flows) -> Suspect:
    found = [part[place].score if place in part else 0.0 for part in parts]
    at = int(np.argmax(found))
    if at and found[at] < SINCE * found[0]:
        at = 0
    since = None
    if at and len(suspect.runs) == 1:
        since = int(suspect.start_ns[later[at]].min() - suspect.start_ns.min())
    pieces = tuple(
        replace(piece, bits=piece.bits * score / found[at], call=_call(piece.call, later[at], suspect))
        for piece in parts[at][place].pieces
    )
    first = pieces[0]
    instance = next((piece.instance for piece in pieces if piece.instance), "")
    kind = _SUBJECTS[first.kind]
    return Suspect(place, score, kind, first.service, first.method, first.caller, instance, since, pieces)


def _call(call: int, requests: I64, suspect: Flows) -> int:
    """Of some requests' calls one, by its place among those of all."""
    if call < 0:
        return call
    sizes = (suspect.first[1:] - suspect.first[:-1])[requests]
    ends = np.cumsum(sizes)
    request = int(np.searchsorted(ends, call, side="right"))
    return int(suspect.first[requests[request]] + call - (ends[request] - sizes[request]))


def _thinned(flows: Flows, most: int) -> Flows:
    if len(flows) <= most:
        return flows
    return flows.take(np.linspace(0, len(flows) - 1, most).astype(np.int64))
