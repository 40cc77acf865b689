"""Find places that take longer than in the reference, and slow hops between places.

The expected time of a visit is the sum over its calls of their mean time in the reference, under the same caller. Therefore a
visit with more calls, or a different mix of requests, does not count as slow. A hop between two places is slow because of the
network of either end: the growth of all hops is attributed to their ends by least squares.

A machine occasionally stalls whatever it runs, and a few calls of a place prove nothing. The confidence in growth comes from
the middle of all requests, and from whether the calls of a place stall more often than those of other places.

Invariant: the growth of the time that requests spend in a place counts in doublings, weighted by its confidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clew.compare.localize.evidence import Evidence, Kind, relative_entropy, shares_differ, weight
from clew.compare.localize.visits import KINDS, Mask, Side, Sides
from clew.compare.stats.tests import F64, I64, Samples, benjamini_hochberg, mann_whitney, normal_above
from clew.records.format.event import EdgeKind

QUANTILES = (0.5, 0.75, 0.9, 0.95)
"""The quantiles beyond which the shares of both samples are compared; occasional stalls do not move the median."""
CHANCE_BITS = 2.0
"""The bits that the best of several tests reaches by chance."""
NO_HOP = (0.0, 0.0, 0.0)
ROUNDS = 50
"""The number of iterations that attribute growth to the ends of hops; the result changes little after ten."""
UNKNOWN = 0.9
"""The quantile of known mean times that is the upper bound of the expected time of calls whose visits the reference lacks."""


@dataclass(frozen=True)
class Slowness:
    """The evidence of slow places."""

    bits: F64
    """The bits of each place."""
    evidence: dict[int, list[Evidence]]


@dataclass(frozen=True)
class _Expectation:
    """The expected times of a side's calls, as columns of calls by kind of time."""

    known: Mask
    """Whether there is a time to compare with."""
    seen: Mask
    """Whether the reference has such a call; otherwise its expected time is a guess."""
    expected: dict[str, F64]


def find_slowness(sides: Sides, *, half: float, floor: float, most: int) -> Slowness:
    """Find the evidence of slow places.

    `half` is the number of bits at which a difference is trusted by half. `floor` is the share of a request's time that is
    added to a place's own time before growth is measured. `most` is the maximum number of items of evidence per place.
    """
    expectations, keys = _expectations(sides)
    visits = [_visit_times(side, expectation) for side, expectation in zip(sides.both, expectations, strict=True)]
    hops = [_hop_times(side, expectation) for side, expectation in zip(sides.both, expectations, strict=True)]
    network = _network(sides, hops)
    stalls, late = _stalls(sides, expectations, hops, floor)
    bits = np.zeros(len(sides.places))
    evidence: dict[int, list[Evidence]] = {}
    for place in np.unique(visits[1].place[visits[1].known]).tolist():
        here = [times.take(times.known & (times.place == place)) for times in visits]
        to = [times.take(times.place == place) for times in hops]
        hop = (network[place], float(to[1].expected.mean()) if len(to[1].place) else 0.0, 0.0)
        touching = [times.take((times.place == place) | (times.other == place)) for times in hops]
        if len(touching[1].place):
            grew = middle_bits(*(mean_by_request(times.request, times.own - times.expected) for times in touching))
            hop = (hop[0], hop[1], float(weight(max(grew, late[place]), half)))
        bits[place] = _doublings(sides, here, hop, half=half, floor=floor, stalls=float(stalls[place]))
        # Examine each request type separately, in case only one type changed.
        roots = here[1].label[here[1].root]
        labels = np.unique(roots)
        for label in labels.tolist() if len(labels) > 1 else ():
            times = [side.take(side.root & (side.label == label)) for side in here]
            if len(times[0].place):
                doubt = float(np.log2(len(labels)))
                bits[place] = max(bits[place], _doublings(sides, times, NO_HOP, half=half, floor=floor, doubt=doubt))
        if bits[place] > 0:
            evidence[place] = _evidence_items(sides, expectations, keys, place, bits=float(bits[place]), most=most)
    return Slowness(bits, evidence)


def _doublings(
    sides: Sides,
    visits: list[_Times],
    hop: tuple[float, float, float],
    *,
    half: float,
    floor: float,
    doubt: float = 0.0,
    stalls: float = 0.0,
) -> float:
    """Return the growth of some visits and of the hop to them, in doublings weighted by confidence.

    `hop` has the growth of the hop, its expected time and the confidence in its growth.
    """
    requests = np.unique(visits[0].request)
    response = float(sides.reference.flows.response_ns[requests if len(requests) else slice(None)].mean())
    usual, own = float(visits[1].expected.mean()), float((visits[1].own - visits[1].expected).mean())
    # The offset keeps a short time from counting as growth, whatever its ratio.
    offset = usual / 2 + floor * response / 10
    logs = [np.log2((times.own + offset) / (times.expected + offset)) for times in visits]
    bits = max(middle_bits(*(mean_by_request(times.request, x) for times, x in zip(visits, logs, strict=True))), stalls)
    growth = max(own, 0.0) * float(weight(bits - doubt, half)) + hop[0] * hop[2]
    return float(np.log2(1 + growth / (usual + hop[1] + floor * response)))


def _stalls(sides: Sides, expectations: Sequence[_Expectation], hops: list[_Times], floor: float) -> tuple[F64, F64]:
    """Return, per place, the bits by which its calls, and the hops to and from it, stall more often than before and than
    others.

    A call stalls if it takes longer by its expected time and by a share of a request's time.
    """
    least = floor * float(sides.reference.flows.response_ns.mean())
    calls, passed = [], []
    for side, expectation, times in zip(sides.both, expectations, hops, strict=True):
        own, expected = (part["work"] + part["waiting"] for part in (side.times, expectation.expected))
        longer = own - expected > np.maximum(expected, least)
        calls.append(
            _Stalls(side.place[expectation.known], longer[expectation.known], expectation.seen[expectation.known])
        )
        longer = times.own - times.expected > np.maximum(times.expected, least)
        passed.append(_Stalls(np.concatenate((times.place, times.other)), np.tile(longer, 2), np.tile(times.known, 2)))
    return _stall_bits(calls, len(sides.places)), _stall_bits(passed, len(sides.places))


class _Stalls(NamedTuple):
    """Whether calls, or hops, stall, and whether the reference has such calls; as columns with the place of each."""

    place: I64
    stalls: Mask
    seen: Mask


def _stall_bits(both: list[_Stalls], places: int) -> F64:
    """Return the bits by which each place stalls more often than usual, minus the bits that the best of all places reaches by
    chance.

    The usual share of stalls is that of all other places now, or the place's own share before if that is larger.
    """
    totals = [np.bincount(times.place[times.seen], minlength=places) for times in both]
    stalling = [np.bincount(times.place[times.seen & times.stalls], minlength=places) for times in both]
    # Without other places, this is the place's own share before.
    before = (stalling[0] + 0.5) / (totals[0] + 1)
    others = (stalling[1].sum() - stalling[1] + before) / (totals[1].sum() - totals[1] + 1)
    usual = np.maximum((stalling[0] + others) / (totals[0] + 1), others)
    share = stalling[1] / np.maximum(totals[1], 1)
    bits = np.where(share > usual, totals[1] * relative_entropy(share, usual), 0.0)
    bits -= np.log2(max(int(np.count_nonzero(totals[1])), 1))
    # Limit the bits of stalling calls without reference: such calls may always take so long, however many they are.
    guessed = both[1].place[both[1].stalls & ~both[1].seen]
    bits[guessed] = np.maximum(bits[guessed], -np.log2(1 - UNKNOWN) - CHANCE_BITS)
    return np.asarray(bits)


@dataclass(frozen=True)
class _Times:
    """The actual and expected times of visits, or of hops to a place, as columns."""

    place: I64
    other: I64
    """The place where a hop starts."""
    label: I64
    """The label of the first call of a visit."""
    root: Mask
    """Whether the visit begins a request."""
    request: I64
    own: F64
    expected: F64
    known: Mask

    def take(self, chosen: Mask) -> _Times:
        return _Times(*(column[chosen] for column in vars(self).values()))


def _expectations(sides: Sides) -> tuple[list[_Expectation], list[I64]]:
    """Return the expectations of both sides, and per call the number of its key: service, label and the caller's label.

    The expected time of a call is the mean in the reference over calls with its key.
    """
    width = len(sides.labels) + 1
    pairs = [(side.service * width + side.label) * width + side.caller + 1 for side in sides.both]
    numbers, of = np.unique(np.concatenate(pairs), return_inverse=True)
    keys = [of[: len(pairs[0])], of[len(pairs[0]) :]]
    count = np.bincount(keys[0], minlength=len(numbers))
    mean = {
        kind: np.bincount(keys[0], sides.reference.times[kind], len(numbers)) / np.maximum(count, 1) for kind in KINDS
    }
    # The time of such a call was only a hop to another service. If it now has work, this work has no reference.
    hop = (count > 0) & (mean["work"] == 0) & (mean["waiting"] == 0)
    slow = {kind: _quantile(mean[kind], UNKNOWN) for kind in KINDS}
    found = []
    for side, key in zip(sides.both, keys, strict=True):
        seen = count[key] > 0
        # In an unseen visit, only time above nearly all known times counts as growth. A new call in a known visit is a change
        # of behaviour.
        known = seen | (~seen[side.entries[side.visit]] if sides.by_service else False)
        expected: dict[str, F64] = {
            kind: np.where(seen, mean[kind][key], np.minimum(side.times[kind], slow[kind])) for kind in KINDS
        }
        found.append(_Expectation(known & ~(hop[key] & (side.times["work"] > 0)), seen, expected))
    return found, keys


def _quantile(means: F64, share: float) -> float:
    used = means[means > 0]
    return float(np.quantile(used, share)) if len(used) else 0.0


def _visit_times(side: Side, expectation: _Expectation) -> _Times:
    """Return the actual and expected times of the visits of one side, without the hops to them."""
    size = len(side.entries)
    own, expected = np.zeros(size), np.zeros(size)
    for kind in KINDS:
        # `_hop_times` measures the hop to the visit itself.
        use = expectation.known & ~side.enters if kind == "edge" else expectation.known
        own += np.bincount(side.visit, np.where(use, side.times[kind], 0.0), size)
        expected += np.bincount(side.visit, np.where(use, expectation.expected[kind], 0.0), size)
    known = np.bincount(side.visit, expectation.known, size) > 0
    place = side.place[side.entries]
    label, root = side.label[side.entries], side.parent[side.entries] < 0
    return _Times(place, place, label, root, side.request[side.entries], own, expected, known)


def _hop_times(side: Side, expectation: _Expectation) -> _Times:
    """Return the actual and expected times of the hops between places of one side."""
    calls = side.entries[(side.parent[side.entries] >= 0) & expectation.known[side.entries]]
    return _Times(
        side.place[calls],
        side.place[side.parent[calls]],
        calls,
        np.zeros(len(calls), bool),
        side.request[calls],
        side.times["edge"][calls],
        expectation.expected["edge"][calls],
        expectation.seen[calls],
    )


def _network(sides: Sides, hops: list[_Times]) -> F64:
    """Return, per place, by how much every hop to and from it takes longer: non-negative least squares over all hops."""
    size = len(sides.places)
    pairs = [hop.other * size + hop.place for hop in hops]
    both = np.intersect1d(pairs[0], pairs[1])
    growth = np.zeros(len(both))
    if len(both):
        there = np.isin(pairs[1], both)
        of = np.searchsorted(both, pairs[1][there])
        growth = np.bincount(of, (hops[1].own - hops[1].expected)[there], len(both)) / np.bincount(of)
    growth = np.maximum(growth, 0.0)
    source, target = both // size, both % size
    slow = np.zeros(size)
    ends = [(place, source == place, target == place) for place in np.unique(np.concatenate((source, target))).tolist()]
    for _ in range(ROUNDS):
        for place, out, into in ends:
            rest = (growth[into] - slow[source[into]]).sum() + (growth[out] - slow[target[out]]).sum()
            # Add a tenth of a hop without growth, so that a single hop is not fully trusted.
            slow[place] = max(rest / (into.sum() + out.sum() + 0.1), 0.0)
    return slow


def middle_bits(before: F64, after: F64) -> float:
    """Return the bits by which values after are larger (Mann and Whitney), less the bits that several tests reach by
    chance."""
    n, m = len(before), len(after)
    if not n or not m:
        return 0.0
    ranked = mann_whitney(*(Samples(part, np.array([0, len(part)])) for part in (before, after)))
    if ranked.delta[0] <= 0:
        return -CHANCE_BITS
    spread = np.sqrt(n * m * (n + m + 1) / 12)
    return -float(np.log2(max(float(normal_above((ranked.u - n * m / 2) / spread)[0]), 1e-300))) - CHANCE_BITS


def slower_bits(before: F64, after: F64) -> float:
    """Return the larger of `middle_bits` and the bits of the upper end, by the shares beyond common quantiles."""
    n, m = len(before), len(after)
    if not n or not m:
        return 0.0
    beyond = np.quantile(np.concatenate((before, after)), QUANTILES)
    shares = [(part[:, None] > beyond).mean(axis=0) for part in (before, after)]
    size = [np.full(len(QUANTILES), float(count)) for count in (n, m)]
    tail = np.where(shares[1] > shares[0], shares_differ(shares[0], size[0], shares[1], size[1]), 0.0)
    return max(middle_bits(before, after), float(tail.max()) - CHANCE_BITS)


def mean_by_request(request: I64, values: F64) -> F64:
    """Return the mean of the values of each request, because visits of one request are not independent."""
    _, of = np.unique(request, return_inverse=True)
    return np.bincount(of, values) / np.bincount(of)


def _evidence_items(
    sides: Sides, expectations: Sequence[_Expectation], keys: list[I64], place: int, *, bits: float, most: int
) -> list[Evidence]:
    """Return the calls and hops of a place that grew most, each with its share of the bits."""
    found: list[tuple[float, Kind, int]] = []
    kind: Kind
    calls = np.flatnonzero((sides.suspect.place == place) & expectations[1].known)
    numbers, of = np.unique(keys[1][calls], return_inverse=True)
    for kind in KINDS:
        growth = (sides.suspect.times[kind] - expectations[1].expected[kind])[calls]
        total = np.bincount(of, growth, len(numbers))
        found += [(float(total[at]), kind, int(numbers[at])) for at in np.flatnonzero(total > 0).tolist()]
    found.sort(key=lambda item: (-item[0], item[1], item[2]))
    whole = sum(item[0] for item in found)
    samples = [_samples(sides, keys, kind, number) for _, kind, number in found[:most]]
    p = [
        float(mann_whitney(*(Samples(v, np.array([0, len(v)])) for v in pair)).p[0]) if len(pair[0]) else 1.0
        for pair, _ in samples
    ]
    corrected = benjamini_hochberg(np.array(p, np.float64))
    result = []
    for (grew, kind, _), (pair, example), chance in zip(found[:most], samples, corrected.tolist(), strict=True):
        side = sides.suspect
        result.append(
            Evidence(
                kind=kind,
                bits=bits * grew / whole,
                service=sides.services[side.service[example]],
                method=sides.labels[side.label[example]],
                caller=sides.labels[side.caller[example]] if side.caller[example] >= 0 else "",
                instance="",
                text=_awaited(side, example) if kind == "waiting" else "",
                before=float(pair[0].mean()) if len(pair[0]) else None,
                after=float(pair[1].mean()),
                samples_before=len(pair[0]),
                samples_after=len(pair[1]),
                p=chance,
                call=example,
            )
        )
    return result


def _awaited(side: Side, call: int) -> str:
    """Return the channels (locks, queues, …) that synchronized a call with others while it ran; "" if none is recorded."""
    flows = side.flows
    graph, event = flows.runs[int(flows.run[side.request[call]])].graph, int(flows.event[call])
    begin = int(graph.ts[event])
    into = np.flatnonzero(graph.edge_kind[:] == EdgeKind.SYNC)
    rows = graph.edge_dst[into]
    times = graph.ts[rows]
    there = (graph.strand[rows] == graph.strand[event]) & (times >= begin)
    there &= times <= begin + int(flows.total_ns[call])
    used = set(graph.edge_channel[into[there]].tolist())
    return ", ".join(sorted(name for name, code in graph.channel_ids.items() if code in used and name))


def _samples(sides: Sides, keys: list[I64], kind: str, number: int) -> tuple[tuple[F64, F64], int]:
    """Return the mean time per call in each request that has such calls, for both sides, and the slowest suspect call."""
    parts = []
    for side, key in zip(sides.both, keys, strict=True):
        calls = np.flatnonzero(key == number)
        parts.append(mean_by_request(side.request[calls], side.times[kind][calls]))
    return (parts[0], parts[1]), int(calls[np.argmax(sides.suspect.times[kind][calls])])
