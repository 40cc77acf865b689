"""Find the instance of a place that is slower than its peers: compare its visits with those of the other instances.

Invariants: instances are compared with each other in the same requests, so slowness of all instances is not blamed on one
of them. An instance that was as slow in the reference is not reported.
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
    """The evidence against slow instances."""

    bits: F64
    """The bits of the slowest instance of each place."""
    evidence: dict[int, Evidence]


def find_instances(sides: Sides, *, half: float, floor: float) -> Instances:
    """Find, per place, the instance whose visits are slower than those of its peers, minus its slowness in the reference."""
    before, after = (_VisitTimes(side, len(sides.labels)) for side in sides.both)
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
    """The slowness of one instance of a place compared with the other instances. Times are in ns."""

    doublings: float
    bits: float
    others: float
    own: float
    samples_others: int
    samples: int
    call: int


class _VisitTimes:
    """The times of the visits of one side, and the times that they would take if every call took its usual time."""

    def __init__(self, side: Side, labels: int) -> None:
        own = np.sum([side.times[kind] for kind in KINDS], axis=0)
        _, of = np.unique(side.label * (labels + 1) + side.caller + 1, return_inverse=True)
        # Use the median: one slow instance does not move it if the others run as many calls.
        usual = _medians(of, own)
        size = len(side.entries)
        self.entries, self.request = side.entries, side.request[side.entries]
        self.place, self.instance = side.place[side.entries], side.flows.instance[side.entries].astype(np.int64)
        self.own = np.bincount(side.visit, own, size)
        self.usual = np.bincount(side.visit, usual[of] if len(of) else own, size)
        self.response = float(side.flows.response_ns.mean()) if len(side.flows) else 0.0

    def ratio(self, place: int, instance: int, floor: float) -> _Ratio | None:
        here = self.place == place
        own_visits, others = here & (self.instance == instance), here & (self.instance != instance)
        if not own_visits.any() or not others.any():
            return None
        offset = floor * self.response / 10 + 1.0
        logs = np.log2((self.own + offset) / (self.usual + offset))
        samples = [mean_by_request(self.request[chosen], logs[chosen]) for chosen in (others, own_visits)]
        # The expected time is that of the other instances, for the calls of this instance.
        excess = [float((self.own - self.usual)[chosen].mean()) for chosen in (others, own_visits)]
        usual = float(self.usual[own_visits].mean())
        expected, own = max(usual + excess[0], 0.0), usual + excess[1]
        slowest = int(self.entries[own_visits][np.argmax((self.own - self.usual)[own_visits])])
        growth = float(np.log2((max(own, expected) + floor * self.response) / (expected + floor * self.response)))
        return _Ratio(
            growth, slower_bits(samples[0], samples[1]), expected, own, len(samples[0]), len(samples[1]), slowest
        )


def _medians(of: I64, values: F64) -> F64:
    order = np.lexsort((values, of))
    bounds = np.searchsorted(of[order], np.arange(int(of.max(initial=-1)) + 2))
    middle = (bounds[:-1] + bounds[1:] - 1) // 2
    return np.asarray(values[order][middle])
