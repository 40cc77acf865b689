"""Which instance of a place is slower than its like: its visits beside those of the others, in the same requests' time.

Invariant: instances are compared with each other, so that what made all of them slower is none's fault; one that was as slow in
the reference is no news.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from clew.compare.localize.evidence import Evidence, weight
from clew.compare.localize.latency_evidence import mean_by_request, slower_bits
from clew.compare.localize.visits import KINDS, Side, Sides
from clew.compare.stats.tests import F64, I64


@dataclass(frozen=True)
class Instances:
    bits: F64
    """Per place, of its slowest instance."""
    evidence: dict[int, Evidence]


def find_instances(sides: Sides, *, half: float, floor: float) -> Instances:
    before, after = (_Beside(side, len(sides.labels)) for side in sides.both)
    side = sides.suspect
    bits = np.zeros(len(sides.places))
    evidence: dict[int, Evidence] = {}
    pairs = sorted(set(zip(after.place.tolist(), after.instance.tolist(), strict=True)))
    several = Counter(place for place, _ in pairs)
    known = {name: code for code, name in enumerate(sides.reference.flows.instances)}
    for place, instance in pairs:
        if several[place] < 2:
            continue
        found = after.ratio(place, instance, floor)
        if found is None:
            continue
        growth, sure = found.doublings, float(weight(found.bits, half))
        name = side.flows.instances[instance]
        usual = before.ratio(place, known[name], floor) if name in known else None
        growth -= max(usual.doublings, 0.0) if usual is not None else 0.0
        if growth * sure > bits[place]:
            bits[place] = growth * sure
            evidence[place] = Evidence(
                kind="instance",
                bits=float(bits[place]),
                service=sides.services[side.service[found.call]],
                method=sides.labels[side.label[found.call]],
                caller=sides.labels[side.caller[found.call]] if side.caller[found.call] >= 0 else "",
                instance=name,
                text="",
                before=found.others,
                after=found.own,
                samples_before=found.samples_others,
                samples_after=found.samples,
                p=float(2.0 ** -max(found.bits, 0.0)),
                call=found.call,
            )
    return Instances(bits, evidence)


@dataclass(frozen=True)
class _Ratio:
    doublings: float
    bits: float
    others: float
    own: float
    samples_others: int
    samples: int
    call: int


class _Beside:
    """Visits of one side, each with what it would take if its calls took what they take on average."""

    def __init__(self, side: Side, labels: int) -> None:
        own = np.sum([side.times[kind] for kind in KINDS], axis=0)
        _, of = np.unique(side.label * (labels + 1) + side.caller + 1, return_inverse=True)
        # The median: a slow instance does not move it, if others run as many calls.
        usual = _medians(of, own)
        size = len(side.entries)
        self.entries, self.request = side.entries, side.request[side.entries]
        self.place, self.instance = side.place[side.entries], side.flows.instance[side.entries].astype(np.int64)
        self.own = np.bincount(side.visit, own, size)
        self.usual = np.bincount(side.visit, usual[of] if len(of) else own, size)
        self.response = float(side.flows.response_ns.mean()) if len(side.flows) else 0.0

    def ratio(self, place: int, instance: int, floor: float) -> _Ratio | None:
        here = self.place == place
        its, others = here & (self.instance == instance), here & (self.instance != instance)
        if not its.any() or not others.any():
            return None
        beside = floor * self.response / 10 + 1.0
        logs = np.log2((self.own + beside) / (self.usual + beside))
        samples = [mean_by_request(self.request[those], logs[those]) for those in (others, its)]
        # What the others take, for the calls that it makes.
        excess = [float((self.own - self.usual)[those].mean()) for those in (others, its)]
        usual = float(self.usual[its].mean())
        expected, own = max(usual + excess[0], 0.0), usual + excess[1]
        slowest = int(self.entries[its][np.argmax((self.own - self.usual)[its])])
        growth = float(np.log2((max(own, expected) + floor * self.response) / (expected + floor * self.response)))
        return _Ratio(
            growth, slower_bits(samples[0], samples[1]), expected, own, len(samples[0]), len(samples[1]), slowest
        )


def _medians(of: I64, values: F64) -> F64:
    order = np.lexsort((values, of))
    bounds = np.searchsorted(of[order], np.arange(int(of.max(initial=-1)) + 2))
    middle = (bounds[:-1] + bounds[1:] - 1) // 2
    return np.asarray(values[order][middle])
