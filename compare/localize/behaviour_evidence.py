"""Find places that behave differently: new or missing calls, errors, words in logs and missing lines, per visit.

A feature (a call made, a failed call, a word logged, an error logged) occurs in a share of a place's visits of one type. The
surprise of a visit is that of its most surprising feature, present or absent: log2 of the share now over the share before,
less one bit, because a different mix of requests also doubles shares. Logs are compared by word, because a message with other
values is new although its words are not. A word that other visits of the service, or other services, also logged is less
surprising. Errors (logged, raised, or calls named after one) count by the visits that have them, not by the mean over all
visits. Reference visits with errors do not count as usual behaviour. An error of a kind that the reference has at other
places is weak evidence, for such errors come and go. A line that is no longer written counts double.

Invariant: each cause is blamed once. A surprise that an earlier surprise explains (a visit of the same request that ended
before) is blamed on the earlier place (`explained_away.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from clew.compare.localize.evidence import Evidence, Kind, share_is_new, weight
from clew.compare.localize.explained_away import Surprises, find_causes
from clew.compare.localize.message_kinds import Kinds, words_of
from clew.compare.localize.visits import Mask, Side, Sides
from clew.compare.stats.tests import F64, I64
from clew.graph.model.event import ERROR

Feature = Literal["call", "word", "level", "failure", "trouble", "line"]
FEATURES: tuple[Feature, ...] = ("call", "word", "level", "failure", "trouble", "line")
KIND_OF: dict[Feature, Kind] = {
    "call": "call", "word": "log", "level": "error", "failure": "error", "trouble": "error", "line": "log",
}  # fmt: skip
ERRORS = tuple(number for number, feature in enumerate(FEATURES) if KIND_OF[feature] == "error")
ERROR_WEIGHT = 2.0
"""The weight of errors relative to other surprises: the program itself reports a fault."""
MIX_BITS = 1.0
"""The bits that a different mix of requests may cause."""
CHANCE_BITS = 1.0
"""The bits that the best of many features reaches by chance."""
PRIOR = 2.0
"""The weight of the knowledge about other visits, in requests."""
PRIOR_ERRORS = 1.0
"""The weight of the rarity of errors, in requests: visits of an unknown type are expected to have no errors."""
ALWAYS_OR_NEVER = 0.25
"""The same weight for the test whether a share is new. It is small because a visit type often has errors always or never,
so errors in all visits of an unknown type prove little."""
ELSEWHERE = 0.5
"""The weight of a feature's share in all requests as an estimate of its share in the visits of a place."""
LEAST = 0.05
"""The minimum bits of a feature; below this value it is ignored."""
LINES = (1, 2, 4, 8)
"""The numbers of lines of one kind in a visit that are features: at least so many."""
LINE_WEIGHT = 2.0
"""The weight of lines that are no longer written relative to other surprises: a failure that nothing reports is as bad."""
SPREAD = 0.5
"""The weight of the number of places in the bits of an error that the reference has elsewhere: some place has it next."""
OFTEN = 2.0
"""How many times as often as at the places of the reference an error occurs if it is more than the reference's errors that
moved."""
MOST_ERROR_BITS = 9.0
"""The bits at which the surprise at an error saturates."""
_TROUBLE = re.compile(r"error|exception|fail(?!over)", re.IGNORECASE)


@dataclass(frozen=True)
class Behaviour:
    """The evidence of changed behaviour."""

    bits: F64
    """The bits of each place that other places do not explain: the mean surprise of the requests that visit it (of the
    most surprising request type), plus the surprise of errors."""
    evidence: dict[int, list[Evidence]]


class _Texts:
    """The numbered words and kinds of templates, and the kinds of labels."""

    def __init__(self, sides: Sides) -> None:
        known: dict[str, int] = {}
        self.words = [
            np.array(sorted({known.setdefault(word, len(known)) for word in words_of(template)}), np.int64)
            for template in sides.templates
        ]
        kinds = Kinds((*sides.services, *(name for side in sides.both for name in side.flows.instances)))
        self.kind = kinds.of_messages(sides.templates)
        self.kind_of_label = kinds.of_labels(sides.labels)
        self.size = max(len(known), len(kinds) * len(LINES), len(sides.labels), 1)
        """The number of names that features may have."""

    def kind_of(self, feature: I64) -> I64:
        """Return the kind of error of each feature: features of one kind are the same error at several places."""
        name, sort = np.divmod(feature, len(FEATURES))
        labels = self.kind_of_label[np.minimum(name, max(len(self.kind_of_label) - 1, 0))]
        # A failed call is an error of its own: what it failed with was not recorded.
        return np.where(
            sort == FEATURES.index("level"), name, np.where(sort == FEATURES.index("trouble"), labels, -1 - feature)
        )


@dataclass(frozen=True, eq=False)
class _Occurrences:
    """The features that the visits of one side have; each pair of visit and feature occurs once."""

    side: Side
    visit_type: I64
    """The type of each visit: its first call and the caller of that call, as a number."""
    visit: I64
    feature: I64

    @cached_property
    def place(self) -> I64:
        return self.side.place[self.side.entries]

    @cached_property
    def request(self) -> I64:
        return self.side.request[self.side.entries]

    @cached_property
    def weight(self) -> F64:
        """Return the weight of each visit; the visits of one type in one request have a total weight of 1."""
        _, of, counts = np.unique(
            self.request * (self.visit_type.max(initial=0) + 1) + self.visit_type,
            return_inverse=True,
            return_counts=True,
        )
        return np.asarray(1.0 / counts[of])

    @cached_property
    def error_free(self) -> Mask:
        """Return whether each visit, and all visits that it led to, are without errors."""
        bad = np.zeros(len(self.visit_type), bool)
        bad[self.visit[np.isin(self.feature % len(FEATURES), ERRORS)]] = True
        outer = self.side.parent[self.side.entries]
        above = np.where(outer >= 0, self.side.visit[outer], -1)
        spread = np.flatnonzero(bad & (above >= 0))
        while len(spread):
            spread = np.unique(above[spread])
            spread = spread[~bad[spread]]
            bad[spread] = True
            spread = spread[above[spread] >= 0]
        return ~bad


class _Shares(NamedTuple):
    """The shares of features as columns: one row per pair of a visit type and a feature."""

    visit_type: I64
    feature: I64
    before: F64
    after: F64
    requests_before: F64
    requests_after: F64
    present: F64
    """The surprise of a visit with the feature, in bits."""
    absent: F64
    """The surprise of a visit without the feature, in bits."""
    bits: F64
    """The confidence that the shares differ, in bits."""
    background: Mask
    """Whether the feature is an error of a kind that the reference has, too, at this or another place, and about as often."""


def find_behaviour(sides: Sides, *, half: float, most: int) -> Behaviour:
    """Find the evidence of changed behaviour.

    `half` is the number of bits at which a difference is trusted by half, `most` the maximum number of items of evidence
    per place.
    """
    if not len(sides.reference.entries) or not len(sides.suspect.entries):
        return Behaviour(np.zeros(len(sides.places)), {})
    texts = _Texts(sides)
    occurrences = _find_occurrences(sides, texts)
    shares, pair = _shares(occurrences, texts, half)
    if not len(shares.visit_type):
        return Behaviour(np.zeros(len(sides.places)), {})
    surprise, reason = _surprise(occurrences[1], shares, pair)
    surprise = np.minimum(surprise, _limits(occurrences[1], shares, pair))
    is_error = np.isin(shares.feature % len(FEATURES), ERRORS)[reason]
    means = _Means(occurrences[1], reason, is_error, reasons=len(shares.visit_type), places=len(sides.places))
    cause, explained = _causes(occurrences[1], shares, surprise, reason, half)
    blamed = surprise * (1 - explained)
    surprising = np.flatnonzero(surprise > 0)
    bits, errors = means.of(surprising, blamed[surprising])
    for place in np.unique(cause[cause >= 0]).tolist():
        visits = np.flatnonzero(cause == place)
        # Several consequences of one cause do not add up: use the most surprising one.
        bits[place] += means.of(visits, (surprise * explained)[visits])[0].max()
    side = sides.suspect
    evidence: dict[int, list[Evidence]] = {}
    for place in np.flatnonzero(bits > 0).tolist():
        visits = np.flatnonzero((occurrences[1].place == place) & (blamed > 0))
        parts = np.bincount(reason[visits], blamed[visits], len(shares.visit_type)) / len(visits)
        parts = np.where(np.bincount(reason[visits[is_error[visits]]], minlength=len(parts)) > 0, errors, parts)
        chosen = np.argsort(-parts, kind="stable")[:most]
        chosen = chosen[parts[chosen] > 0]
        for number in chosen.tolist():
            example = visits[reason[visits] == number]
            call = _example_call(side, texts, shares, number, int(example[np.argmax(blamed[example])]))
            part = float(bits[place] * parts[number] / parts.sum())
            evidence.setdefault(place, []).append(_evidence_item(sides, texts, shares, number, bits=part, call=call))
    return Behaviour(bits, evidence)


def _find_occurrences(sides: Sides, texts: _Texts) -> tuple[_Occurrences, _Occurrences]:
    # If one side has no logs at all, logs were not collected.
    """Return the features of all visits of both sides, with common numbers."""
    logs = all(len(side.flows.log_call) for side in sides.both)
    found = []
    width = len(sides.labels) + 1
    visit_types = [side.label[side.entries] * width + side.caller[side.entries] + 1 for side in sides.both]
    _, visit_type = np.unique(np.concatenate(visit_types), return_inverse=True)
    size = texts.size * len(FEATURES)
    for side, of in zip(
        sides.both, (visit_type[: len(visit_types[0])], visit_type[len(visit_types[0]) :]), strict=True
    ):
        pairs = [_pairs(*part, size) for part in _features(sides, side, texts, logs=logs)]
        both = np.unique(np.concatenate(pairs))
        found.append(_Occurrences(side, of, both // size, both % size))
    return found[0], found[1]


def _pairs(visit: I64, name: I64, feature: Feature, size: int) -> I64:
    return visit * size + name * len(FEATURES) + FEATURES.index(feature)


def _features(sides: Sides, side: Side, texts: _Texts, *, logs: bool) -> Iterator[tuple[I64, I64, Feature]]:
    """Yield the visits that have features, the names of the features, and their kind."""
    flows = side.flows
    called = np.flatnonzero(side.parent >= 0)
    called = called[~np.isin(side.visit[side.parent[called]], _dispatching_visits(side))]
    trouble = np.array([bool(_TROUBLE.search(name)) for name in sides.labels], bool)[side.label[called]]
    yield side.visit[side.parent[called[trouble]]], side.label[called[trouble]], "trouble"
    called = called[~trouble]
    yield side.visit[side.parent[called]], side.label[called], "call"
    failed = np.flatnonzero(flows.failed)
    yield side.visit[failed], side.label[failed], "failure"
    if not logs:
        return
    visit = side.visit[flows.log_call]
    errors = flows.log_level >= ERROR
    yield visit[errors], texts.kind[side.template[errors]], "level"
    size = max(len(texts.words), 1)
    both = np.unique(visit * size + side.template)
    lengths = np.array([len(texts.words[template]) for template in (both % size).tolist()], np.int64)
    if lengths.any():
        yield np.repeat(both // size, lengths), np.concatenate([texts.words[t] for t in (both % size).tolist()]), "word"
    lines, counts = np.unique(visit[~errors] * texts.size + texts.kind[side.template[~errors]], return_counts=True)
    for number, least in enumerate(LINES):
        enough = lines[counts >= least]
        yield enough // texts.size, enough % texts.size * len(LINES) + number, "line"


def _dispatching_visits(side: Side) -> I64:
    """Return the root visits that only dispatch: each calls one other place, which depends on the request."""
    out = side.entries[side.parent[side.entries] >= 0]
    of = side.visit[side.parent[out]]
    out, of = out[side.parent[side.entries[of]] < 0], of[side.parent[side.entries[of]] < 0]
    roots, counts = np.unique(of, return_counts=True)
    if not len(roots) or (counts > 1).mean() > 0.05 or len(np.unique(side.label[out])) < 2:
        return np.zeros(0, np.int64)
    return roots


def _shares(occurrences: tuple[_Occurrences, _Occurrences], texts: _Texts, half: float) -> tuple[_Shares, I64]:
    """Return the shares of all features by visit type and, per suspect visit and feature, its row in the shares."""
    width = int(max((one_side.feature.max(initial=0) for one_side in occurrences), default=0)) + 1
    keys = [one_side.visit_type[one_side.visit] * width + one_side.feature for one_side in occurrences]
    numbers, of = np.unique(np.concatenate(keys), return_inverse=True)
    own = of[: len(keys[0])], of[len(keys[0]) :]
    visit_type, feature = numbers // width, numbers % width
    is_error = np.isin(feature % len(FEATURES), ERRORS)
    visit_types = int(max(one_side.visit_type.max(initial=0) for one_side in occurrences)) + 1
    counts: list[F64] = []
    found: list[F64] = []
    for one_side, number in zip(occurrences, own, strict=True):
        counts.append(
            np.asarray(np.bincount(one_side.visit_type, one_side.weight, visit_types)[visit_type], np.float64)
        )
        found.append(np.asarray(np.bincount(number, one_side.weight[one_side.visit], len(numbers)), np.float64))
    # Use the reference visits without errors, but all visits of a type if most of them have errors.
    reference = occurrences[0]
    error_free, every = reference.error_free, np.bincount(reference.visit_type, reference.weight, visit_types)
    mostly_errors = np.bincount(reference.visit_type[error_free], reference.weight[error_free], visit_types) < every / 2
    error_free = error_free | mostly_errors[reference.visit_type]
    counts[0] = np.where(
        is_error,
        counts[0],
        np.bincount(reference.visit_type[error_free], reference.weight[error_free], visit_types)[visit_type],
    )
    use = is_error[own[0]] | error_free[reference.visit]
    occurring = np.bincount(own[0][use], reference.weight[reference.visit][use], len(numbers))
    found[0] = np.asarray(occurring, np.float64)
    n, m = counts[0], counts[1]
    # For visit types that the reference lacks, every feature is new, so only errors are evidence.
    known = ((n > 0) | is_error) & (m > 0)
    before, after = (np.clip(x / np.maximum(size, 1), 0, 1) for x, size in zip(found, (n, m), strict=True))
    prior = np.where(is_error, _rarity(occurrences[0]), _elsewhere(occurrences, own, feature, len(numbers)))
    trusted = np.where(is_error, PRIOR_ERRORS, PRIOR)
    trust = np.where(is_error, ALWAYS_OR_NEVER, PRIOR)
    bits = share_is_new((found[0], n), (found[1], m), expected=prior, trust=trust) - CHANCE_BITS
    # Add half a request for and half against, because an unseen feature is not impossible. For errors, the prior does this.
    half_one = np.where(is_error, 0.0, 0.5)
    usual = (found[0] + trusted * prior + half_one) / (n + trusted + 2 * half_one)
    now = (found[1] + PRIOR * prior + half_one) / (m + PRIOR + 2 * half_one)
    sure = np.where(known, weight(bits, half), 0.0)
    present = np.maximum(np.log2(now / usual) - MIX_BITS, 0.0) * sure
    absent = np.maximum(np.log2((1 - now) / (1 - usual)) - MIX_BITS, 0.0) * sure
    elsewhere, rate = _spread(occurrences[0], texts, feature, is_error)
    background = elsewhere >= 0
    loud = np.where(background, np.minimum(present, elsewhere * sure), ERROR_WEIGHT * present)
    present, absent = np.where(is_error, np.minimum(loud, MOST_ERROR_BITS), present), np.where(is_error, 0.0, absent)
    line = feature % len(FEATURES) == FEATURES.index("line")
    absent = np.where(line, LINE_WEIGHT * absent, absent)
    # A line with other values may be of another kind, so only a missing line is a surprise; new lines have new words.
    present = np.where(line, 0.0, present)
    return _Shares(
        visit_type, feature, before, after, n, m, present, absent, bits, background & (now < OFTEN * rate)
    ), own[1]


def _spread(reference: _Occurrences, texts: _Texts, feature: I64, is_error: Mask) -> tuple[F64, F64]:
    """Return, per feature, the maximum bits of an error of a kind that the reference has, -1 for other features, and the share
    of visits with it at the places that have it.

    An error that some places have for a while has other places at another time. The surprise is the rarity of such places,
    and a part of it is lost because one of the places has to be the next.
    """
    errors = np.isin(reference.feature % len(FEATURES), ERRORS)
    visit = reference.visit[errors]
    size = len(reference.visit_type)
    kinds, own = np.unique(texts.kind_of(reference.feature[errors]), return_inverse=True)
    places, place = np.unique(reference.place, return_inverse=True)
    pairs = np.unique(own * len(places) + place[visit])
    having = np.bincount(pairs // len(places), minlength=len(kinds))
    visits = np.bincount(place, minlength=len(places))[pairs % len(places)]
    bad = np.bincount(np.unique(own * size + visit) // size, minlength=len(kinds))
    all_there = np.bincount(pairs // len(places), visits, len(kinds))
    bits, rate = np.full(len(feature), -1.0), np.ones(len(feature))
    if len(kinds):
        kind = texts.kind_of(feature)
        at = np.minimum(np.searchsorted(kinds, kind), len(kinds) - 1)
        known = is_error & (kinds[at] == kind)
        rarity = np.log2((len(places) + 1) / (having + 0.5)) - SPREAD * np.log2(len(places))
        bits = np.where(known, np.maximum(rarity, 0.0)[at], bits)
        rate = np.where(known, ((bad + 0.5) / (all_there + 0.5))[at], rate)
    return bits, np.minimum(rate, 1.0)


def _limits(occurrences: _Occurrences, shares: _Shares, pair: I64) -> F64:
    """Return the maximum surprise of each visit: that of its error, if the reference has errors of its kind at other places.

    The visit fails differently than its healthy visits, and so do the visits that led to it: that is no further evidence.
    """
    size = len(occurrences.visit_type)
    limit, loud = np.full(size, -1.0), np.zeros(size, bool)
    surprising = shares.present[pair] >= LEAST
    there = surprising & shares.background[pair]
    np.maximum.at(limit, occurrences.visit[there], shares.present[pair[there]])
    is_error = np.isin(shares.feature[pair] % len(FEATURES), ERRORS)
    loud[occurrences.visit[surprising & is_error & ~shares.background[pair]]] = True
    limit[loud] = -1.0
    outer = occurrences.side.parent[occurrences.side.entries]
    above = np.where(outer >= 0, occurrences.side.visit[outer], -1)
    spread = np.flatnonzero((limit >= 0) & (above >= 0))
    while len(spread):
        before = limit.copy()
        np.maximum.at(limit, above[spread], limit[spread])
        spread = np.flatnonzero((limit > before) & (above >= 0))
    return np.where(limit >= 0, limit, np.inf)


def _rarity(reference: _Occurrences) -> float:
    """Return the share of visits with an error, averaged over visit types, because a type with errors has many."""
    bad = np.unique(reference.visit[np.isin(reference.feature % len(FEATURES), ERRORS)])
    visits = np.bincount(reference.visit_type)
    shares = np.bincount(reference.visit_type[bad], minlength=len(visits))[visits > 0] / visits[visits > 0]
    return float((shares.sum() + 0.5) / (len(shares) + 1))


def _elsewhere(occurrences: tuple[_Occurrences, _Occurrences], own: tuple[I64, I64], feature: I64, size: int) -> F64:
    """Return the expected share of each feature for visit types without data.

    It is the share in other visits of the place, or half the share in all requests if that is larger; never 0 or 1.
    """
    reference = occurrences[0]
    place = np.zeros(size, np.int64)
    for one_side, number in zip(occurrences, own, strict=True):
        place[number] = one_side.place[one_side.visit]
    requests = len(reference.side.flows)
    width = int(max(one_side.feature.max(initial=0) for one_side in occurrences)) + 1
    places = int(max(one_side.place.max(initial=0) for one_side in occurrences)) + 1
    request, of = reference.request[reference.visit], reference.place[reference.visit]
    there = np.unique((request * places + of) * width + reference.feature) % (places * width)
    keys, times = np.unique(there, return_counts=True)
    visited = np.bincount(np.unique(reference.request * places + reference.place) % places, minlength=places)
    targets = place * width + feature
    at = np.minimum(np.searchsorted(keys, targets), max(len(keys) - 1, 0))
    here = np.where(keys[at] == targets, times[at], 0) / np.maximum(visited[place], 1) if len(keys) else np.zeros(size)
    anywhere = np.bincount(np.unique(request * width + reference.feature) % width, minlength=width)[feature] / max(
        requests, 1
    )
    least = 0.5 / (requests + 1)
    return np.clip(np.maximum(here, ELSEWHERE * anywhere), least, 1 - least)


def _surprise(occurrences: _Occurrences, shares: _Shares, pair: I64) -> tuple[F64, I64]:
    """Return, per visit, the bits of its most surprising feature, and the row of that feature in the shares."""
    surprise, reason = np.zeros(len(occurrences.visit_type)), np.zeros(len(occurrences.visit_type), np.int64)
    bits = np.where(shares.present >= LEAST, shares.present, 0.0)[pair]
    order = np.argsort(bits, kind="stable")
    surprise[occurrences.visit[order]], reason[occurrences.visit[order]] = bits[order], pair[order]
    by_sort = np.argsort(occurrences.visit_type, kind="stable")
    bounds = np.searchsorted(occurrences.visit_type[by_sort], np.arange(int(occurrences.visit_type.max(initial=0)) + 2))
    by_pair = np.argsort(pair, kind="stable")
    starts = np.searchsorted(pair[by_pair], np.arange(len(shares.visit_type) + 1))
    for number in np.flatnonzero(shares.absent >= LEAST).tolist():
        visit_type = int(shares.visit_type[number])
        visits = by_sort[bounds[visit_type] : bounds[visit_type + 1]]
        with_it = occurrences.visit[by_pair[starts[number] : starts[number + 1]]]
        visits = visits[~np.isin(visits, with_it)]
        visits = visits[surprise[visits] < shares.absent[number]]
        surprise[visits], reason[visits] = shares.absent[number], number
    return surprise, reason


class _Means:
    """The aggregation of the surprise of visits to bits of their places."""

    def __init__(self, occurrences: _Occurrences, reason: I64, is_error: Mask, *, reasons: int, places: int) -> None:
        self.place, self.reason, self.is_error = occurrences.place, reason, is_error
        self.reasons, self.places = reasons, places
        requests, self.request = np.unique(occurrences.request * places + occurrences.place, return_inverse=True)
        # Average over requests with the same root: the surprise of one request type is not diluted by the other types.
        root = occurrences.side.label[occurrences.side.flows.first[requests // places]]
        types, self.type = np.unique(root * places + requests % places, return_inverse=True)
        self.place_of_type, self.sizes = types % places, np.bincount(self.type)

    def of(self, visits: I64, bits: F64) -> tuple[F64, F64]:
        """Aggregate the bits of some visits: the mean over requests, and for errors the mean over the visits that have them.

        Return the bits per place, and the bits of errors per reason.
        """
        reason, errors = self.reason[visits], self.is_error[visits]
        worst = np.zeros(len(self.type))
        np.maximum.at(worst, self.request[visits], np.where(errors, 0.0, bits))
        found, most = np.zeros((2, self.places))
        np.maximum.at(found, self.place_of_type, np.bincount(self.type, worst) / self.sizes)
        having = np.bincount(reason[errors], minlength=self.reasons)
        of_error = np.bincount(reason[errors], bits[errors], self.reasons) / np.maximum(having, 1)
        np.maximum.at(most, self.place[visits[errors]], of_error[reason[errors]])
        return found + most, of_error


def _causes(occurrences: _Occurrences, shares: _Shares, surprise: F64, reason: I64, half: float) -> tuple[I64, F64]:
    """Return, per visit, the place that explains its surprise, or -1, and the explained share of its surprise."""
    entries, ends = occurrences.side.entries, _ends(occurrences.side)
    visits = np.flatnonzero(surprise > 0)
    # A nested visit ends before its enclosing visit, even if both end at the same time.
    visits = visits[np.lexsort((-entries[visits], ends[visits], occurrences.request[visits]))]
    requests, share = shares.requests_before, np.where(shares.absent > shares.present, 1 - shares.before, shares.before)
    by_sort = {
        visit_type: set(occurrences.request[occurrences.visit_type == visit_type].tolist())
        for visit_type in np.unique(occurrences.visit_type[visits]).tolist()
    }
    could = {number: by_sort[int(shares.visit_type[number])] for number in np.unique(reason[visits]).tolist()}
    found = Surprises(
        occurrences.request[visits],
        occurrences.place[visits],
        reason[visits],
        could,
        requests,
        share * requests,
        weight(shares.bits, half),
    )
    cause, part = np.full(len(surprise), -1, np.int64), np.zeros(len(surprise))
    cause[visits], part[visits] = find_causes(found)
    return cause, part


def _ends(side: Side) -> I64:
    """Return the end of each visit in ns, corrected for clocks of different machines.

    A callee does not answer after its caller, unless the caller did not wait. Therefore a visit that is mostly inside its
    caller's visit ends with that visit at the latest.
    """
    begins = side.flows.begin_ns[side.entries]
    ends = begins + side.flows.total_ns[side.entries]
    outer = side.parent[side.entries]
    inner = np.flatnonzero(outer >= 0)
    above = side.visit[outer[inner]]
    while True:
        late = (ends[inner] > ends[above]) & (begins[inner] + ends[inner] < 2 * ends[above])
        if not late.any():
            return ends
        ends[inner[late]] = ends[above[late]]


def _example_call(side: Side, texts: _Texts, shares: _Shares, number: int, visit: int) -> int:
    """Return a call of a visit that shows the feature: the failed call, the caller, or the call that logged; otherwise its
    first call."""
    flows = side.flows
    name, feature = divmod(int(shares.feature[number]), len(FEATURES))
    if FEATURES[feature] in ("word", "level"):
        logs = np.flatnonzero(side.visit[flows.log_call] == visit)
        if FEATURES[feature] == "level":
            logs = logs[(flows.log_level[logs] >= ERROR) & (texts.kind[side.template[logs]] == name)]
        else:
            logs = logs[np.array([name in texts.words[of] for of in side.template[logs].tolist()], bool)]
        found = flows.log_call[logs]
    elif FEATURES[feature] == "failure":
        found = np.flatnonzero(flows.failed & (side.label == name) & (side.visit == visit))
    else:
        callers = side.parent[np.flatnonzero((side.label == name) & (side.parent >= 0))]
        found = callers[side.visit[callers] == visit]
    return int(found[0]) if len(found) else int(side.entries[visit])


def _evidence_item(sides: Sides, texts: _Texts, shares: _Shares, number: int, *, bits: float, call: int) -> Evidence:
    """Describe a feature as an item of evidence, with an example call."""
    side = sides.suspect
    feature = FEATURES[int(shares.feature[number]) % len(FEATURES)]
    name = int(shares.feature[number]) // len(FEATURES)
    if feature == "word":
        text = _message(sides, np.array([name in of.tolist() for of in texts.words], bool), call)
    elif feature == "line":
        kind, least = divmod(name, len(LINES))
        text = _message(sides, texts.kind == kind, call)
        text = f"{text} (at least {LINES[least]} times)" if least else text
    elif feature == "level":
        text = _message(sides, texts.kind == name, call)
    else:
        label = sides.labels[name]
        text = {"call": label, "failure": "", "trouble": f"calls {label}"}[feature]
    return Evidence(
        kind=KIND_OF[feature],
        bits=bits,
        service=sides.services[side.service[call]],
        method=sides.labels[name if feature == "failure" else side.label[call]],
        caller=sides.labels[side.caller[call]] if side.caller[call] >= 0 else "",
        instance="",
        text=text,
        before=float(shares.before[number]),
        after=float(shares.after[number]),
        samples_before=int(shares.requests_before[number]),
        samples_after=int(shares.requests_after[number]),
        p=float(min(2.0 ** -max(shares.bits[number], 0.0), 1.0)),
        call=call,
    )


def _message(sides: Sides, having: Mask, call: int) -> str:
    """Return the most frequent of some messages, preferably a message of the place of a call."""
    counts = np.bincount(np.concatenate([side.template for side in sides.both]), minlength=len(sides.templates))
    place = sides.suspect.place[call]
    here = np.zeros(len(sides.templates), bool)
    for side in sides.both:
        here[side.template[side.place[side.flows.log_call] == place]] = True
    best = int(np.argmax(np.where(having, counts + here * counts.sum(), -1)))
    return sides.templates[best].replace("\0", "…")
