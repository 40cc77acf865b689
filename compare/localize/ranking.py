"""Rank suspects by all kinds of evidence, with the reasons for each.

A suspect is a place: a service or, in a run of one service, a function. Evidence of time is a place's own time (work and
waiting separately), slow hops to it, and an instance slower than its peers. Evidence of behaviour is new or missing calls,
errors, and words in logs. The score is in bits: doublings of time, at `time` bits each, plus the surprise at its behaviour. A
fault seldom starts with the first recorded request, so bits are the mean over several possible instants of onset.

Invariants: significance is a weight and never excludes evidence. Time that a callee explains, and behaviour that an
earlier surprise explains, counts only once.
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
"""The instants at which a fault may start, as shares of the time from the first request of the run to the last."""
LEAST_AFTER = 5
"""The minimum number of requests after an instant for it to be examined as an onset."""
SINCE = 1.25
"""The minimum ratio of the bits of requests after an instant to the bits of all requests, to report the instant as the
onset."""


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
        text = self.evidence[0].sentence()
        text = text if self.place in text else f"{self.place}: {text}"
        return (
            text
            if self.since_ns is None
            else f"{text}, starting {duration(self.since_ns)} after the first suspect request"
        )


@dataclass(frozen=True, eq=False, repr=False)
class Localization(Shown):
    """The ranked suspects for the difference between two sets of requests."""

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
            text = self.residuals.sentence()
            first = (
                f"first suspect: {self.suspects[0].sentence()}"
                if self.suspects
                else "no suspect: no place differs noticeably"
            )
            return f"{text}; {first}"
        of = f"of {self.suspect:,} requests against {self.reference:,}"
        if not self.suspects:
            return f"no suspect: no place differs noticeably {of}"
        return f"first suspect {of}: {self.suspects[0].sentence()}"

    def explain(self) -> str:
        return self.thresholds.explain()

    def table(self) -> Table:
        """Return a table with a row per suspect."""
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
    """Rank the suspects for the difference between the requests `suspect` and a reference.

    Without a reference, the anomalous requests are compared with the rest. `options` are thresholds by name. Raises
    `QueryError` for an unknown threshold or an invalid value.
    """
    chosen = (thresholds or Thresholds()).having(options)
    residuals = None
    suspect = _sample(suspect, int(chosen.most))
    if reference is None:
        residuals = find_residuals(suspect, alpha=chosen.alpha, variance=chosen.variance, confidence=chosen.confidence)
        odd = residuals.anomalous
        reference, suspect = suspect.take(~odd), suspect.take(odd)
    else:
        reference = _sample(reference, int(chosen.most))
    suspects: list[Suspect] = []
    if len(reference) and len(suspect):
        # Requests that are anomalous in their own run are examined regardless of their time.
        by_onset = [np.arange(len(suspect))] if residuals is not None else _requests_by_onset(suspect)
        parts = [_score_places(reference, suspect.take(requests), chosen) for requests in by_onset]
        places = {place for part in parts for place in part}
        scores = {place: sum(part[place].score for part in parts if place in part) / len(parts) for place in places}
        for place in sorted(places, key=lambda place: (-scores[place], place)):
            if scores[place] < chosen.least:
                break
            suspects.append(_suspect(place, scores[place], parts, by_onset, suspect))
    services = len(two_sides(reference, suspect).services)
    return Localization(tuple(suspects), chosen, len(reference), len(suspect), services, residuals, suspect)


def _requests_by_onset(suspect: Flows) -> list[I64]:
    """Return, per possible onset of a fault, the requests of each run after it; the first entry has all requests."""
    start = suspect.start_ns.astype(np.float64)
    low, high = np.full((2, len(suspect.runs)), np.inf)
    np.minimum.at(low, suspect.run, start)
    np.minimum.at(high, suspect.run, -start)
    done = ((start - low[suspect.run]) / np.maximum(-high - low, 1.0)[suspect.run]).clip(0, 1)
    parts = [np.flatnonzero(done >= onset) for onset in ONSETS]
    return [part for part in parts if len(part) >= LEAST_AFTER] or parts[:1]


class _Place(NamedTuple):
    """A place with evidence against it."""

    score: float
    items: list[Evidence]
    """The evidence, strongest first."""


def _score_places(reference: Flows, suspect: Flows, thresholds: Thresholds) -> dict[str, _Place]:
    """Return the places with evidence against them in these requests, by name."""
    sides = two_sides(reference, suspect)
    slow = find_slowness(sides, half=thresholds.half, floor=thresholds.floor, most=int(thresholds.pieces))
    odd_ones = find_instances(sides, half=thresholds.half, floor=thresholds.floor)
    behaviour = find_behaviour(sides, half=thresholds.half, most=int(thresholds.pieces))
    score = thresholds.time * np.maximum(slow.bits, odd_ones.bits) + behaviour.bits
    found = {}
    for place in np.flatnonzero(score > 0).tolist():
        items = [*slow.evidence.get(place, ())]
        if place in odd_ones.evidence:
            items.append(odd_ones.evidence[place])
        items = [replace(item, bits=thresholds.time * item.bits) for item in items]
        items += behaviour.evidence.get(place, ())
        if items:
            items.sort(key=lambda item: -item.bits)
            found[sides.places[place]] = _Place(float(score[place]), items)
    return found


_SUBJECTS: dict[str, Subject] = {
    "work": "method", "waiting": "method", "edge": "edge", "instance": "instance", "call": "method", "error": "log",
    "log": "log",
}  # fmt: skip


def _suspect(place: str, score: float, parts: list[dict[str, _Place]], by_onset: list[I64], suspect: Flows) -> Suspect:
    """Return a suspect with the evidence from its onset, scaled to its score."""
    found = [part[place].score if place in part else 0.0 for part in parts]
    at = int(np.argmax(found))
    if at and found[at] < SINCE * found[0]:
        at = 0
    since = None
    if at and len(suspect.runs) == 1:
        since = int(suspect.start_ns[by_onset[at]].min() - suspect.start_ns.min())
    items = tuple(
        replace(item, bits=item.bits * score / found[at], call=_call(item.call, by_onset[at], suspect))
        for item in parts[at][place].items
    )
    first = items[0]
    instance = next((item.instance for item in items if item.instance), "")
    kind = _SUBJECTS[first.kind]
    return Suspect(place, score, kind, first.service, first.method, first.caller, instance, since, items)


def _call(call: int, requests: I64, suspect: Flows) -> int:
    """Convert the index of a call among the calls of `requests` to its index among the calls of all suspect requests."""
    if call < 0:
        return call
    sizes = (suspect.first[1:] - suspect.first[:-1])[requests]
    ends = np.cumsum(sizes)
    request = int(np.searchsorted(ends, call, side="right"))
    return int(suspect.first[requests[request]] + call - (ends[request] - sizes[request]))


def _sample(flows: Flows, most: int) -> Flows:
    if len(flows) <= most:
        return flows
    return flows.take(np.linspace(0, len(flows) - 1, most).astype(np.int64))
