"""Which places take longer than they did: the time of visits against what their calls took before, and slow ways between.

What a visit is expected to take is what each of its calls took in the reference, of the same caller: so a visit that calls
more is not slow for that, and a mix of requests that changed is no slowness either. A way between two places is slow by the
network of one or of the other: each way's growth is split between its ends so that the fewest and smallest growths explain
all. A machine stalls whatever it runs now and then, and a call or two of a place prove nothing: how sure growth is, is told
by the middle of all requests, and by whether more calls of a place stall than of all others meanwhile.
Invariant: how much later a place makes its requests counts in doublings, and is weighted by how sure the growth is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from clew.compare.localize.evidence import Evidence, Kind, relative_entropy, shares_differ, weight
from clew.compare.localize.visits import KINDS, Mask, Side, Sides
from clew.compare.stats.tests import F64, I64, Samples, benjamini_hochberg, mann_whitney, normal_above

QUANTILES = (0.5, 0.75, 0.9, 0.95)
"""Where the share of slower values is compared: stalls now and then move no median."""
DOUBT = 2.0
"""Bits that the best of several tests has by chance."""
NO_WAY = (0.0, 0.0, 0.0)
ROUNDS = 50
"""Of splitting growth between the ends of ways; it changes little after ten."""
UNKNOWN = 0.9
"""Calls of visits that the reference has none of are expected to take what this share of those that it has take at most."""


@dataclass(frozen=True)
class Slowness:
    bits: F64
    """Per place."""
    evidence: dict[int, list[Evidence]]


@dataclass(frozen=True)
class _Grown:
    """Columns of a side's calls, by kind of time."""

    known: Mask
    """Is there something to compare it with?"""
    seen: Mask
    """Does the reference have such a call? Else what it is expected to take is a guess."""
    expected: dict[str, F64]


def find_slowness(sides: Sides, *, half: float, floor: float, most: int) -> Slowness:
    """`half` is the bits at which a difference is trusted by half, `floor` the share of a request's time that growth is
    measured against beside the place's own, `most` how many pieces of evidence a place has."""
    grown, keys = _expectations(sides)
    visits = [_of_visits(side, there) for side, there in zip(sides.both, grown, strict=True)]
    ways = [_of_ways(side, there) for side, there in zip(sides.both, grown, strict=True)]
    network = _network(sides, ways)
    stalls, late = _stalls(sides, grown, ways, floor)
    bits = np.zeros(len(sides.places))
    evidence: dict[int, list[Evidence]] = {}
    for place in np.unique(visits[1].place[visits[1].known]).tolist():
        here = [those.take(those.known & (those.place == place)) for those in visits]
        to = [those.take(those.place == place) for those in ways]
        way = (network[place], float(to[1].expected.mean()) if len(to[1].place) else 0.0, 0.0)
        touching = [those.take((those.place == place) | (those.other == place)) for those in ways]
        if len(touching[1].place):
            grew = middle_bits(*(mean_by_request(those.request, those.own - those.expected) for those in touching))
            way = (way[0], way[1], float(weight(max(grew, late[place]), half)))
        bits[place] = _doublings(sides, here, way, half=half, floor=floor, stalls=float(stalls[place]))
        # Requests of one type, also where all other types are as they were.
        roots = here[1].sort[here[1].root]
        sorts = np.unique(roots)
        for sort in sorts.tolist() if len(sorts) > 1 else ():
            those = [side.take(side.root & (side.sort == sort)) for side in here]
            if len(those[0].place):
                doubt = float(np.log2(len(sorts)))
                bits[place] = max(bits[place], _doublings(sides, those, NO_WAY, half=half, floor=floor, doubt=doubt))
        if bits[place] > 0:
            evidence[place] = _pieces(sides, grown, keys, place, bits=float(bits[place]), most=most)
    return Slowness(bits, evidence)


def _doublings(
    sides: Sides,
    visits: list[_Times],
    way: tuple[float, float, float],
    *,
    half: float,
    floor: float,
    doubt: float = 0.0,
    stalls: float = 0.0,
) -> float:
    """Of the time of some visits with the way to them: what that grew, what it took, and how sure it is that it grew."""
    requests = np.unique(visits[0].request)
    response = float(sides.reference.flows.response_ns[requests if len(requests) else slice(None)].mean())
    usual, own = float(visits[1].expected.mean()), float((visits[1].own - visits[1].expected).mean())
    # Beside half of what it takes, what is short is no growth however many times.
    beside = usual / 2 + floor * response / 10
    logs = [np.log2((those.own + beside) / (those.expected + beside)) for those in visits]
    bits = max(middle_bits(*(mean_by_request(those.request, x) for those, x in zip(visits, logs, strict=True))), stalls)
    growth = max(own, 0.0) * float(weight(bits - doubt, half)) + way[0] * way[2]
    return float(np.log2(1 + growth / (usual + way[1] + floor * response)))


def _stalls(sides: Sides, grown: Sequence[_Grown], ways: list[_Times], floor: float) -> tuple[F64, F64]:
    """Per place how sure it is that its calls, and the ways to and from it, stall more often than others do meanwhile, and than
    they did. One stalls that takes longer by what it used to take, and by a share of a request."""
    least = floor * float(sides.reference.flows.response_ns.mean())
    calls, passed = [], []
    for side, there, those in zip(sides.both, grown, ways, strict=True):
        own, expected = (part["work"] + part["waiting"] for part in (side.times, there.expected))
        longer = own - expected > np.maximum(expected, least)
        calls.append(_Stalls(side.place[there.known], longer[there.known], there.seen[there.known]))
        longer = those.own - those.expected > np.maximum(those.expected, least)
        passed.append(_Stalls(np.concatenate((those.place, those.other)), np.tile(longer, 2), np.tile(those.known, 2)))
    return _more_often(calls, len(sides.places)), _more_often(passed, len(sides.places))


class _Stalls(NamedTuple):
    place: I64
    stalls: Mask
    seen: Mask


def _more_often(both: list[_Stalls], places: int) -> F64:
    """Bits: a share now against that of all others now, or its own before if that is larger; less those that the best of all
    places has by chance."""
    many = [np.bincount(those.place[those.seen], minlength=places) for those in both]
    having = [np.bincount(those.place[those.seen & those.stalls], minlength=places) for those in both]
    # Where there are no others, its own before.
    before = (having[0] + 0.5) / (many[0] + 1)
    others = (having[1].sum() - having[1] + before) / (many[1].sum() - many[1] + 1)
    usual = np.maximum((having[0] + others) / (many[0] + 1), others)
    share = having[1] / np.maximum(many[1], 1)
    bits = np.where(share > usual, many[1] * relative_entropy(share, usual), 0.0)
    bits -= np.log2(max(int(np.count_nonzero(many[1])), 1))
    # However many calls stall of which nothing is known, their like may always take so long.
    guessed = both[1].place[both[1].stalls & ~both[1].seen]
    bits[guessed] = np.maximum(bits[guessed], -np.log2(1 - UNKNOWN) - DOUBT)
    return np.asarray(bits)


@dataclass(frozen=True)
class _Times:
    """Of visits, or of ways to a place: what they took and were expected to."""

    place: I64
    other: I64
    """Where a way begins."""
    sort: I64
    """What a visit begins with."""
    root: Mask
    """Does a request begin with it?"""
    request: I64
    own: F64
    expected: F64
    known: Mask

    def take(self, chosen: Mask) -> _Times:
        return _Times(*(column[chosen] for column in vars(self).values()))


def _expectations(sides: Sides) -> tuple[list[_Grown], list[I64]]:
    """What each call took in the reference on average, by service, label and its caller's label; and its number among those."""
    width = len(sides.labels) + 1
    pairs = [(side.service * width + side.label) * width + side.caller + 1 for side in sides.both]
    numbers, of = np.unique(np.concatenate(pairs), return_inverse=True)
    keys = [of[: len(pairs[0])], of[len(pairs[0]) :]]
    count = np.bincount(keys[0], minlength=len(numbers))
    mean = {
        kind: np.bincount(keys[0], sides.reference.times[kind], len(numbers)) / np.maximum(count, 1) for kind in KINDS
    }
    # What was the way to another service, and is the last that is seen of it now, was never measured by itself.
    way = (count > 0) & (mean["work"] == 0) & (mean["waiting"] == 0)
    slow = {kind: _quantile(mean[kind], UNKNOWN) for kind in KINDS}
    found = []
    for side, key in zip(sides.both, keys, strict=True):
        seen = count[key] > 0
        # Of a visit that was never seen, only what takes longer than nearly all that was is growth. A new call in one that was,
        # is something else that it does.
        known = seen | (~seen[side.entries[side.visit]] if sides.by_service else False)
        expected: dict[str, F64] = {
            kind: np.where(seen, mean[kind][key], np.minimum(side.times[kind], slow[kind])) for kind in KINDS
        }
        found.append(_Grown(known & ~(way[key] & (side.times["work"] > 0)), seen, expected))
    return found, keys


def _quantile(means: F64, share: float) -> float:
    used = means[means > 0]
    return float(np.quantile(used, share)) if len(used) else 0.0


def _of_visits(side: Side, grown: _Grown) -> _Times:
    size = len(side.entries)
    own, expected = np.zeros(size), np.zeros(size)
    for kind in KINDS:
        # Of the way to the visit itself `_of_ways` tells.
        use = grown.known & ~side.enters if kind == "edge" else grown.known
        own += np.bincount(side.visit, np.where(use, side.times[kind], 0.0), size)
        expected += np.bincount(side.visit, np.where(use, grown.expected[kind], 0.0), size)
    known = np.bincount(side.visit, grown.known, size) > 0
    place = side.place[side.entries]
    label, root = side.label[side.entries], side.parent[side.entries] < 0
    return _Times(place, place, label, root, side.request[side.entries], own, expected, known)


def _of_ways(side: Side, grown: _Grown) -> _Times:
    calls = side.entries[(side.parent[side.entries] >= 0) & grown.known[side.entries]]
    return _Times(
        side.place[calls],
        side.place[side.parent[calls]],
        calls,
        np.zeros(len(calls), bool),
        side.request[calls],
        side.times["edge"][calls],
        grown.expected["edge"][calls],
        grown.seen[calls],
    )


def _network(sides: Sides, ways: list[_Times]) -> F64:
    """Per place how much every way to and from it takes longer: least squares over all ways, none below zero."""
    size = len(sides.places)
    pairs = [way.other * size + way.place for way in ways]
    both = np.intersect1d(pairs[0], pairs[1])
    growth = np.zeros(len(both))
    if len(both):
        there = np.isin(pairs[1], both)
        of = np.searchsorted(both, pairs[1][there])
        growth = np.bincount(of, (ways[1].own - ways[1].expected)[there], len(both)) / np.bincount(of)
    growth = np.maximum(growth, 0.0)
    source, target = both // size, both % size
    slow = np.zeros(size)
    ends = [(place, source == place, target == place) for place in np.unique(np.concatenate((source, target))).tolist()]
    for _ in range(ROUNDS):
        for place, out, into in ends:
            rest = (growth[into] - slow[source[into]]).sum() + (growth[out] - slow[target[out]]).sum()
            # A tenth of a way that did not grow at all: what one way alone says is not all believed.
            slow[place] = max(rest / (into.sum() + out.sum() + 0.1), 0.0)
    return slow


def middle_bits(before: F64, after: F64) -> float:
    """How sure it is that values after are larger (Mann and Whitney), less what chance makes of several tests."""
    n, m = len(before), len(after)
    if not n or not m:
        return 0.0
    ranked = mann_whitney(*(Samples(part, np.array([0, len(part)])) for part in (before, after)))
    if ranked.delta[0] <= 0:
        return -DOUBT
    spread = np.sqrt(n * m * (n + m + 1) / 12)
    return -float(np.log2(max(float(normal_above((ranked.u - n * m / 2) / spread)[0]), 1e-300))) - DOUBT


def slower_bits(before: F64, after: F64) -> float:
    """As `middle_bits`, or at the upper end (shares beyond the quantiles of both), whichever tells more."""
    n, m = len(before), len(after)
    if not n or not m:
        return 0.0
    beyond = np.quantile(np.concatenate((before, after)), QUANTILES)
    shares = [(part[:, None] > beyond).mean(axis=0) for part in (before, after)]
    size = [np.full(len(QUANTILES), float(count)) for count in (n, m)]
    tail = np.where(shares[1] > shares[0], shares_differ(shares[0], size[0], shares[1], size[1]), 0.0)
    return max(middle_bits(before, after), float(tail.max()) - DOUBT)


def mean_by_request(request: I64, values: F64) -> F64:
    """Means: visits of one request have much in common."""
    _, of = np.unique(request, return_inverse=True)
    return np.bincount(of, values) / np.bincount(of)


def _pieces(
    sides: Sides, grown: Sequence[_Grown], keys: list[I64], place: int, *, bits: float, most: int
) -> list[Evidence]:
    """Which calls and ways of a place grew most, each with its part of the bits."""
    found: list[tuple[float, Kind, int]] = []
    kind: Kind
    calls = np.flatnonzero((sides.suspect.place == place) & grown[1].known)
    numbers, of = np.unique(keys[1][calls], return_inverse=True)
    for kind in KINDS:
        growth = (sides.suspect.times[kind] - grown[1].expected[kind])[calls]
        total = np.bincount(of, growth, len(numbers))
        found += [(float(total[at]), kind, int(numbers[at])) for at in np.flatnonzero(total > 0).tolist()]
    found.sort(key=lambda piece: (-piece[0], piece[1], piece[2]))
    whole = sum(piece[0] for piece in found)
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
                text="",
                before=float(pair[0].mean()) if len(pair[0]) else None,
                after=float(pair[1].mean()),
                samples_before=len(pair[0]),
                samples_after=len(pair[1]),
                p=chance,
                call=example,
            )
        )
    return result


def _samples(sides: Sides, keys: list[I64], kind: str, number: int) -> tuple[tuple[F64, F64], int]:
    """Mean time per call in each request that has such calls, on both sides; and the slowest call."""
    parts = []
    for side, key in zip(sides.both, keys, strict=True):
        calls = np.flatnonzero(key == number)
        parts.append(mean_by_request(side.request[calls], side.times[kind][calls]))
    return (parts[0], parts[1]), int(calls[np.argmax(sides.suspect.times[kind][calls])])
