"""Which places do something else than they did: calls that are new or missing, errors, and words in logs, per visit.

A feature (a call made, a call that failed, a word logged, an error logged) is there in a share of a place's visits of one
sort, request by request. How surprising a visit is, is its most surprising feature, there or missing: log2 of its share now
over its share before, less one bit, as another mix of requests doubles shares, too. Words, not whole messages: a message with
other values in it is new, but its words are known; and what a service or its neighbours said in other visits is less of a
surprise. Errors (logged, raised, or calls named after one) count by those visits that have them, not by the mean of all; and
what visits with errors did in the reference is no example to follow. Invariant: one cause is blamed once. What an earlier
surprise explains, of a visit that ended before in the same request, is blamed on its place instead (`causes.py`).
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
from clew.compare.localize.visits import Mask, Side, Sides
from clew.compare.stats.tests import F64, I64
from clew.graph.ops.flows.columns import ERROR

Feature = Literal["call", "word", "level", "failure", "trouble"]
FEATURES: tuple[Feature, ...] = ("call", "word", "level", "failure", "trouble")
KIND_OF: dict[Feature, Kind] = {
    "call": "call", "word": "log", "level": "error", "failure": "error", "trouble": "error",
}  # fmt: skip
ERRORS = tuple(number for number, feature in enumerate(FEATURES) if KIND_OF[feature] == "error")
OWN_WORD = 2.0
"""How much more an error counts than other surprises: the program itself says that something is wrong."""
MIX = 1.0
"""Bits that another mix of requests may make."""
DOUBT = 1.0
"""Bits that the best of many features has by chance."""
PRIOR = 2.0
"""Requests that what is known of other visits counts for."""
PRIOR_ERRORS = 1.0
"""Requests that the rarity of errors counts for: where little is known of visits of a sort, they are expected to be without."""
ALWAYS_OR_NEVER = 0.25
"""Requests that it counts for where it is asked whether a share is new: visits of a sort have errors always or never, so that
errors in all of those that nothing is known of prove little."""
ELSEWHERE = 0.5
"""How far a share in all requests speaks for a visit's."""
LEAST = 0.05
"""Bits below which a feature is none."""
_WORD = re.compile(
    r"(?<![\w\0])(?<!\0-)(?<![=:])(?<![=:][\s\"'\[({<])(?<![=:]\s[\"'\[({<])[^\W\d_]{2,}(?![\w\0])(?!-\0)"
)
"""A run of letters, not beside a parameter, also where a hyphen joins them, and not the value behind a `key=` or `key: `."""
_TROUBLE = re.compile(r"error|exception|fail(?!over)", re.IGNORECASE)
_DATES = frozenset((
    "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun",
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
))  # fmt: skip


@dataclass(frozen=True)
class Behaviour:
    bits: F64
    """Per place, as far as nothing explains it: the mean surprise of the requests that visit it (of the type that
    surprises most), and what errors add."""
    evidence: dict[int, list[Evidence]]


class _Words:
    """The words of templates, numbered."""

    def __init__(self, templates: tuple[str, ...]) -> None:
        known: dict[str, int] = {}
        self.of = [
            np.array(sorted({known.setdefault(word, len(known)) for word in words_of(template)}), np.int64)
            for template in templates
        ]
        self.names = tuple(known)


def words_of(template: str) -> Iterator[str]:
    """Those that the program says, as far as one can tell, not the data: values behind their names, and dates, are left out."""
    return (word for word in _WORD.findall(template) if word not in _DATES)


@dataclass(frozen=True, eq=False)
class _Seen:
    """Of one side: which visit has which feature, once each."""

    side: Side
    sort: I64
    """Per visit: its first call and who called it."""
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
        """Per visit: those of one sort in one request count as one together."""
        _, of, many = np.unique(
            self.request * (self.sort.max(initial=0) + 1) + self.sort, return_inverse=True, return_counts=True
        )
        return np.asarray(1.0 / many[of])

    @cached_property
    def fine(self) -> Mask:
        """Per visit: is it without errors, and all visits that it led to?"""
        bad = np.zeros(len(self.sort), bool)
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
    """Columns of pairs of a sort of visits and a feature."""

    sort: I64
    feature: I64
    before: F64
    after: F64
    requests_before: F64
    requests_after: F64
    present: F64
    """Bits of surprise at a visit that has the feature,"""
    absent: F64
    """and at one that has it not."""
    bits: F64
    """By which the shares surely differ."""


def find_behaviour(sides: Sides, *, half: float, most: int) -> Behaviour:
    """`half` is the bits at which a difference is trusted by half, `most` how many pieces of evidence a place has."""
    if not len(sides.reference.entries) or not len(sides.suspect.entries):
        return Behaviour(np.zeros(len(sides.places)), {})
    words = _Words(sides.templates)
    seen = _seen(sides, words)
    shares, pair = _shares(seen, half)
    if not len(shares.sort):
        return Behaviour(np.zeros(len(sides.places)), {})
    surprise, reason = _surprise(seen[1], shares, pair)
    is_error = np.isin(shares.feature % len(FEATURES), ERRORS)[reason]
    means = _Means(seen[1], reason, is_error, reasons=len(shares.sort), places=len(sides.places))
    cause, explained = _causes(seen[1], shares, surprise, reason, half)
    blamed = surprise * (1 - explained)
    surprising = np.flatnonzero(surprise > 0)
    bits, errors = means.of(surprising, blamed[surprising])
    for place in np.unique(cause[cause >= 0]).tolist():
        visits = np.flatnonzero(cause == place)
        # Several consequences of one cause do not add up: as surprising as the most surprising.
        bits[place] += means.of(visits, (surprise * explained)[visits])[0].max()
    side = sides.suspect
    evidence: dict[int, list[Evidence]] = {}
    for place in np.flatnonzero(bits > 0).tolist():
        visits = np.flatnonzero((seen[1].place == place) & (blamed > 0))
        parts = np.bincount(reason[visits], blamed[visits], len(shares.sort)) / len(visits)
        parts = np.where(np.bincount(reason[visits[is_error[visits]]], minlength=len(parts)) > 0, errors, parts)
        chosen = np.argsort(-parts, kind="stable")[:most]
        chosen = chosen[parts[chosen] > 0]
        for number in chosen.tolist():
            example = visits[reason[visits] == number]
            call = _witness(side, words, shares, number, int(example[np.argmax(blamed[example])]))
            part = float(bits[place] * parts[number] / parts.sum())
            evidence.setdefault(place, []).append(_piece(sides, words, shares, number, bits=part, call=call))
    return Behaviour(bits, evidence)


def _seen(sides: Sides, words: _Words) -> tuple[_Seen, _Seen]:
    # Where one side has no logs at all, nobody collected them.
    logs = all(len(side.flows.log_call) for side in sides.both)
    found = []
    width = len(sides.labels) + 1
    sorts = [side.label[side.entries] * width + side.caller[side.entries] + 1 for side in sides.both]
    _, sort = np.unique(np.concatenate(sorts), return_inverse=True)
    size = max(len(sides.labels), len(words.names), 1) * len(FEATURES)
    for side, of in zip(sides.both, (sort[: len(sorts[0])], sort[len(sorts[0]) :]), strict=True):
        pairs = [_pairs(*part, size) for part in _features(sides, side, words, logs=logs)]
        both = np.unique(np.concatenate(pairs))
        found.append(_Seen(side, of, both // size, both % size))
    return found[0], found[1]


def _pairs(visit: I64, name: I64, feature: Feature, size: int) -> I64:
    return visit * size + name * len(FEATURES) + FEATURES.index(feature)


def _features(sides: Sides, side: Side, words: _Words, *, logs: bool) -> Iterator[tuple[I64, I64, Feature]]:
    flows = side.flows
    called = np.flatnonzero(side.parent >= 0)
    called = called[~np.isin(side.visit[side.parent[called]], _handed_on(side))]
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
    yield visit[errors], np.zeros(int(errors.sum()), np.int64), "level"
    size = max(len(words.of), 1)
    both = np.unique(visit * size + side.template)
    lengths = np.array([len(words.of[template]) for template in (both % size).tolist()], np.int64)
    if lengths.any():
        yield np.repeat(both // size, lengths), np.concatenate([words.of[t] for t in (both % size).tolist()]), "word"


def _handed_on(side: Side) -> I64:
    """Visits with which requests begin that call one other place each, not always the same: which one, requests are for."""
    out = side.entries[side.parent[side.entries] >= 0]
    of = side.visit[side.parent[out]]
    out, of = out[side.parent[side.entries[of]] < 0], of[side.parent[side.entries[of]] < 0]
    roots, many = np.unique(of, return_counts=True)
    if not len(roots) or (many > 1).mean() > 0.05 or len(np.unique(side.label[out])) < 2:
        return np.zeros(0, np.int64)
    return roots


def _shares(seen: tuple[_Seen, _Seen], half: float) -> tuple[_Shares, I64]:
    """Of each feature in each sort of visits; and per pair of a suspect visit and a feature its number among those."""
    width = int(max((those.feature.max(initial=0) for those in seen), default=0)) + 1
    keys = [those.sort[those.visit] * width + those.feature for those in seen]
    numbers, of = np.unique(np.concatenate(keys), return_inverse=True)
    own = of[: len(keys[0])], of[len(keys[0]) :]
    sort, feature = numbers // width, numbers % width
    is_error = np.isin(feature % len(FEATURES), ERRORS)
    sorts = int(max(those.sort.max(initial=0) for those in seen)) + 1
    counts: list[F64] = []
    found: list[F64] = []
    for those, number in zip(seen, own, strict=True):
        counts.append(np.asarray(np.bincount(those.sort, those.weight, sorts)[sort], np.float64))
        found.append(np.asarray(np.bincount(number, those.weight[those.visit], len(numbers)), np.float64))
    # Of the reference, what visits without errors did; but where most have them, errors are usual.
    reference = seen[0]
    fine, every = reference.fine, np.bincount(reference.sort, reference.weight, sorts)
    few = np.bincount(reference.sort[fine], reference.weight[fine], sorts) < every / 2
    fine = fine | few[reference.sort]
    counts[0] = np.where(is_error, counts[0], np.bincount(reference.sort[fine], reference.weight[fine], sorts)[sort])
    use = is_error[own[0]] | fine[reference.visit]
    had = np.bincount(own[0][use], reference.weight[reference.visit][use], len(numbers))
    found[0] = np.asarray(had, np.float64)
    n, m = counts[0], counts[1]
    # Of visits that the reference has none of, everything is new; only errors say something.
    known = ((n > 0) | is_error) & (m > 0)
    before, after = (np.clip(x / np.maximum(many, 1), 0, 1) for x, many in zip(found, (n, m), strict=True))
    prior = np.where(is_error, _rarity(seen[0]), _elsewhere(seen, own, feature, len(numbers)))
    trusted = np.where(is_error, PRIOR_ERRORS, PRIOR)
    trust = np.where(is_error, ALWAYS_OR_NEVER, PRIOR)
    bits = share_is_new((found[0], n), (found[1], m), expected=prior, trust=trust) - DOUBT
    # Half a request for and against: what was never seen is not impossible. How rare errors are, says so already.
    half_one = np.where(is_error, 0.0, 0.5)
    usual = (found[0] + trusted * prior + half_one) / (n + trusted + 2 * half_one)
    now = (found[1] + PRIOR * prior + half_one) / (m + PRIOR + 2 * half_one)
    sure = np.where(known, weight(bits, half), 0.0)
    present = np.maximum(np.log2(now / usual) - MIX, 0.0) * sure
    absent = np.maximum(np.log2((1 - now) / (1 - usual)) - MIX, 0.0) * sure
    present, absent = np.where(is_error, OWN_WORD * present, present), np.where(is_error, 0.0, absent)
    return _Shares(sort, feature, before, after, n, m, present, absent, bits), own[1]


def _rarity(reference: _Seen) -> float:
    """In which share of the visits of a sort there is an error, on average over sorts: those that have any have many."""
    bad = np.unique(reference.visit[np.isin(reference.feature % len(FEATURES), ERRORS)])
    visits = np.bincount(reference.sort)
    shares = np.bincount(reference.sort[bad], minlength=len(visits))[visits > 0] / visits[visits > 0]
    return float((shares.sum() + 0.5) / (len(shares) + 1))


def _elsewhere(seen: tuple[_Seen, _Seen], own: tuple[I64, I64], feature: I64, size: int) -> F64:
    """How often a feature is to be expected where nothing is known of visits of a sort: as often as in other visits of the
    place, or half as often as in all requests; never surely and never surely not."""
    reference = seen[0]
    place = np.zeros(size, np.int64)
    for those, number in zip(seen, own, strict=True):
        place[number] = those.place[those.visit]
    many = len(reference.side.flows)
    width = int(max(those.feature.max(initial=0) for those in seen)) + 1
    places = int(max(those.place.max(initial=0) for those in seen)) + 1
    request, of = reference.request[reference.visit], reference.place[reference.visit]
    there = np.unique((request * places + of) * width + reference.feature) % (places * width)
    keys, times = np.unique(there, return_counts=True)
    visited = np.bincount(np.unique(reference.request * places + reference.place) % places, minlength=places)
    wanted = place * width + feature
    at = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    here = np.where(keys[at] == wanted, times[at], 0) / np.maximum(visited[place], 1) if len(keys) else np.zeros(size)
    anywhere = np.bincount(np.unique(request * width + reference.feature) % width, minlength=width)[feature] / max(
        many, 1
    )
    least = 0.5 / (many + 1)
    return np.clip(np.maximum(here, ELSEWHERE * anywhere), least, 1 - least)


def _surprise(seen: _Seen, shares: _Shares, pair: I64) -> tuple[F64, I64]:
    """Per visit the bits of its most surprising feature, and that feature's number."""
    surprise, reason = np.zeros(len(seen.sort)), np.zeros(len(seen.sort), np.int64)
    bits = np.where(shares.present >= LEAST, shares.present, 0.0)[pair]
    order = np.argsort(bits, kind="stable")
    surprise[seen.visit[order]], reason[seen.visit[order]] = bits[order], pair[order]
    by_sort = np.argsort(seen.sort, kind="stable")
    bounds = np.searchsorted(seen.sort[by_sort], np.arange(int(seen.sort.max(initial=0)) + 2))
    by_pair = np.argsort(pair, kind="stable")
    starts = np.searchsorted(pair[by_pair], np.arange(len(shares.sort) + 1))
    for number in np.flatnonzero(shares.absent >= LEAST).tolist():
        sort = int(shares.sort[number])
        visits = by_sort[bounds[sort] : bounds[sort + 1]]
        with_it = seen.visit[by_pair[starts[number] : starts[number + 1]]]
        visits = visits[~np.isin(visits, with_it)]
        visits = visits[surprise[visits] < shares.absent[number]]
        surprise[visits], reason[visits] = shares.absent[number], number
    return surprise, reason


class _Means:
    """What visits are blamed for, as bits of their places."""

    def __init__(self, seen: _Seen, reason: I64, is_error: Mask, *, reasons: int, places: int) -> None:
        self.place, self.reason, self.is_error = seen.place, reason, is_error
        self.reasons, self.places = reasons, places
        requests, self.request = np.unique(seen.request * places + seen.place, return_inverse=True)
        # Requests that begin alike by themselves: what one type of many does is no less of a surprise for it.
        root = seen.side.label[seen.side.flows.first[requests // places]]
        types, self.type = np.unique(root * places + requests % places, return_inverse=True)
        self.place_of_type, self.sizes = types % places, np.bincount(self.type)

    def of(self, visits: I64, bits: F64) -> tuple[F64, F64]:
        """Per place the bits of some visits: the mean over requests, and of errors over the visits that have them; and per
        reason those of errors."""
        reason, errors = self.reason[visits], self.is_error[visits]
        worst = np.zeros(len(self.type))
        np.maximum.at(worst, self.request[visits], np.where(errors, 0.0, bits))
        found, most = np.zeros((2, self.places))
        np.maximum.at(found, self.place_of_type, np.bincount(self.type, worst) / self.sizes)
        having = np.bincount(reason[errors], minlength=self.reasons)
        of_error = np.bincount(reason[errors], bits[errors], self.reasons) / np.maximum(having, 1)
        np.maximum.at(most, self.place[visits[errors]], of_error[reason[errors]])
        return found + most, of_error


def _causes(seen: _Seen, shares: _Shares, surprise: F64, reason: I64, half: float) -> tuple[I64, F64]:
    """Per visit the place because of which it is as it is, or -1, and the part of its surprise that this explains."""
    entries, ends = seen.side.entries, _ends(seen.side)
    visits = np.flatnonzero(surprise > 0)
    # What is inside ends before what is around it, also where both end at one time.
    visits = visits[np.lexsort((-entries[visits], ends[visits], seen.request[visits]))]
    many, share = shares.requests_before, np.where(shares.absent > shares.present, 1 - shares.before, shares.before)
    by_sort = {sort: set(seen.request[seen.sort == sort].tolist()) for sort in np.unique(seen.sort[visits]).tolist()}
    could = {number: by_sort[int(shares.sort[number])] for number in np.unique(reason[visits]).tolist()}
    found = Surprises(
        seen.request[visits], seen.place[visits], reason[visits], could, many, share * many, weight(shares.bits, half)
    )
    cause, part = np.full(len(surprise), -1, np.int64), np.zeros(len(surprise))
    cause[visits], part[visits] = find_causes(found)
    return cause, part


def _ends(side: Side) -> I64:
    """Per visit when it ended. Clocks of two machines disagree, and nobody answers later than its caller, unless the caller
    did not wait: what lies for the most part within its caller's visit ended with it at the latest."""
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


def _witness(side: Side, words: _Words, shares: _Shares, number: int, visit: int) -> int:
    """The call of a visit that shows the feature: that failed, made the call or logged; of what is missing its first call."""
    flows = side.flows
    name, feature = divmod(int(shares.feature[number]), len(FEATURES))
    if FEATURES[feature] in ("word", "level"):
        logs = np.flatnonzero(side.visit[flows.log_call] == visit)
        if FEATURES[feature] == "level":
            logs = logs[flows.log_level[logs] >= ERROR]
        else:
            logs = logs[np.array([name in words.of[of] for of in side.template[logs].tolist()], bool)]
        found = flows.log_call[logs]
    elif FEATURES[feature] == "failure":
        found = np.flatnonzero(flows.failed & (side.label == name) & (side.visit == visit))
    else:
        callers = side.parent[np.flatnonzero((side.label == name) & (side.parent >= 0))]
        found = callers[side.visit[callers] == visit]
    return int(found[0]) if len(found) else int(side.entries[visit])


def _piece(sides: Sides, words: _Words, shares: _Shares, number: int, *, bits: float, call: int) -> Evidence:
    side = sides.suspect
    feature = FEATURES[int(shares.feature[number]) % len(FEATURES)]
    name = int(shares.feature[number]) // len(FEATURES)
    if feature == "word":
        text = _message(sides, words, name, call)
    else:
        label = sides.labels[name] if feature != "level" else ""
        text = {"call": label, "failure": "", "level": "an error is logged", "trouble": f"calls {label}"}[feature]
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


def _message(sides: Sides, words: _Words, word: int, call: int) -> str:
    """The message with the word that is logged most, of visits of this kind where there is one."""
    having = np.array([word in of.tolist() for of in words.of], bool)
    counts = np.bincount(np.concatenate([side.template for side in sides.both]), minlength=len(sides.templates))
    place = sides.suspect.place[call]
    here = np.zeros(len(sides.templates), bool)
    for side in sides.both:
        here[side.template[side.place[side.flows.log_call] == place]] = True
    best = int(np.argmax(np.where(having, counts + here * counts.sum(), -1)))
    return sides.templates[best].replace("\0", "…")
