"""Where to look: one ranked list of suspects from all kinds of evidence, with the reason for each.

A suspect is a place (a service, or in a run of one service a function) with what speaks against it: time of its own (work and
waiting apart), slow ways to it, one instance slower than its like, calls new or missing, errors, words in logs. Its score is in
bits: doublings of time, at `time` bits each, and surprise at what it does. Invariant: significance is a weight, never a gate;
time that a callee explains, and behaviour that an earlier surprise explains, counts for nobody else.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np

from clew.compare.behaviour import find_behaviour
from clew.compare.evidence import Evidence, Subject
from clew.compare.instances import find_instances
from clew.compare.residuals import Residuals, find_residuals
from clew.compare.slowness import find_slowness
from clew.compare.visits import two_sides
from clew.graph.columns import Table, table_of
from clew.graph.ops.flows import Flows


@dataclass(frozen=True)
class Thresholds:
    """What evidence weighs. `explain()` says it in plain words."""

    time: float = 2.0
    """Bits that a doubling of time counts: behaviour surprises by more bits than time has doublings."""
    half: float = 3.0
    """Bits by which two sides must surely differ for a difference to be trusted by half."""
    floor: float = 0.05
    """Growth is measured against a place's own time and this share of the whole request's, so that what is short does not count
    for much however many times longer it takes."""
    pieces: int = 4
    """Pieces of evidence that a suspect has at most, of time and of behaviour."""
    most: int = 20_000
    """Requests that are looked at on each side; of more, so many evenly spaced ones."""
    least: float = 0.05
    """Bits below which a place is no suspect."""
    alpha: float = 0.75
    """Without a reference: the share of requests in major clusters."""
    variance: float = 0.95
    """Without a reference: the share of variance that is usual (principal components)."""
    confidence: float = 0.999
    """Without a reference: of the threshold beyond which a request is anomalous."""

    def explain(self) -> str:
        return (
            f"Suspects are ranked by bits: {self.time:g} for each doubling of a request's time by what is a place's own, "
            f"and the surprise at calls, errors and words in logs that it did not use to have, or has no longer. Each is "
            f"weighted by how sure the difference is: by half at {self.half:g} bits (odds of {2**self.half:,.0f} to 1), by "
            f"less below; nothing is dropped for being uncertain. Growth counts against the place's time and "
            f"{self.floor:.0%} of its requests' time. Time that callees explain is theirs, and so is what a caller does "
            f"because of a callee."
        )


@dataclass(frozen=True)
class Suspect:
    """One place; what names it best is of its strongest evidence."""

    place: str
    """A service, or where there is only one, a function."""
    score: float
    """Bits."""
    kind: Subject
    """Of the first piece of evidence."""
    service: str
    method: str
    caller: str
    """Where the edge to the method begins, or who called it; "" at a root."""
    instance: str
    evidence: tuple[Evidence, ...]
    """The strongest first."""

    def sentence(self) -> str:
        said = self.evidence[0].sentence()
        return said if self.place in said else f"{self.place}: {said}"


@dataclass(frozen=True, eq=False)
class Localization:
    suspects: tuple[Suspect, ...]
    """The likeliest first; each service, or each function of a single service, once."""
    thresholds: Thresholds
    reference: int
    suspect: int
    """Requests."""
    services: int
    residuals: Residuals | None
    """Without a reference: how requests were told apart."""
    flows: Flows
    """Of the suspect requests that were looked at, to which the evidence's calls belong."""

    def sentence(self) -> str:
        of = f"of {self.suspect:,} requests against {self.reference:,}"
        if self.residuals is not None:
            of = f"of {self.residuals.sentence()}"
        if not self.suspects:
            return f"no suspect: nothing stands out {of}"
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
    chosen = _chosen(thresholds, options)
    residuals = None
    suspect = _thinned(suspect, int(chosen.most))
    if reference is None:
        residuals = find_residuals(suspect, alpha=chosen.alpha, variance=chosen.variance, confidence=chosen.confidence)
        odd = residuals.anomalous
        reference, suspect = suspect.take(~odd), suspect.take(odd)
    else:
        reference = _thinned(reference, int(chosen.most))
    sides = two_sides(reference, suspect)
    suspects: list[Suspect] = []
    if len(reference) and len(suspect):
        slow = find_slowness(sides, half=chosen.half, floor=chosen.floor, most=int(chosen.pieces))
        odd_ones = find_instances(sides, half=chosen.half, floor=chosen.floor)
        behaviour = find_behaviour(sides, half=chosen.half, most=int(chosen.pieces))
        time = chosen.time * np.maximum(slow.bits, odd_ones.bits)
        score = time + behaviour.bits
        for place in np.argsort(-score, kind="stable").tolist():
            if score[place] < chosen.least:
                break
            pieces = [replace(piece, bits=chosen.time * piece.bits) for piece in slow.evidence.get(place, ())]
            if place in odd_ones.evidence:
                piece = odd_ones.evidence[place]
                pieces.append(replace(piece, bits=chosen.time * piece.bits))
            pieces += behaviour.evidence.get(place, ())
            pieces.sort(key=lambda piece: -piece.bits)
            if pieces:
                suspects.append(_suspect(sides.places[place], float(score[place]), tuple(pieces)))
    return Localization(tuple(suspects), chosen, len(reference), len(suspect), len(sides.services), residuals, suspect)


_SUBJECTS: dict[str, Subject] = {
    "work": "method", "waiting": "method", "edge": "edge", "instance": "instance", "call": "method", "error": "log",
    "log": "log",
}  # fmt: skip


def _suspect(place: str, score: float, pieces: tuple[Evidence, ...]) -> Suspect:
    first = pieces[0]
    instance = next((piece.instance for piece in pieces if piece.instance), "")
    return Suspect(place, score, _SUBJECTS[first.kind], first.service, first.method, first.caller, instance, pieces)


def _thinned(flows: Flows, most: int) -> Flows:
    if len(flows) <= most:
        return flows
    return flows.take(np.linspace(0, len(flows) - 1, most).astype(np.int64))


def _chosen(thresholds: Thresholds | None, options: dict[str, float]) -> Thresholds:
    known = asdict(thresholds or Thresholds())
    for name in options:
        if name not in known:
            from clew.graph.nodes import QueryError

            names = ", ".join(field.name for field in fields(Thresholds))
            raise QueryError(f"there is no threshold {name!r}; thresholds: {names}")
    return Thresholds(**known | options)
