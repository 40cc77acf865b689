"""Describe requests by traits besides calls and times: instances, values, logs and failures.

A *trait* is a statement that is true or false for a request. Invariants: a trait is true for several requests and false
for several. Traits that hold for the same requests are merged. Counters that increase with time, names of single requests,
and properties of calls that only some groups have are not traits; flows already show the latter.
"""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.compare.stats.tests import F64, I64
from clew.graph.model.array_utils import expand
from clew.graph.model.text_templates import SLOT
from clew.graph.ops.flows.flows import Flows
from clew.graph.ops.flows.values import values_of

Mask = npt.NDArray[np.bool_]
TraitKind = Literal["parameter", "instance", "log", "failure"]

BOUNDS = 31
"""The maximum number of quantiles that a number is compared with."""
VALUES = 100
"""The maximum number of different texts of one name; the most frequent ones are used."""
PARTS = 8
"""The maximum number of members of a tuple, list or dict that count as values themselves."""
COUNTER = 0.95
"""The minimum correlation between the ranks of a number and of the time that makes the number a counter."""
MIN_DISTINCT = 8
"""The minimum number of different values needed to recognise a counter."""
SHOWN = 80
"""The maximum number of characters of a text in a sentence."""


@dataclass(frozen=True)
class Trait:
    """A statement that is true or false for a request."""

    kind: TraitKind
    subject: str
    """The call, or the message."""
    holds: str
    """The statement in words, as the end of a sentence about requests."""
    fails: str
    """The opposite statement in words."""


class Members(NamedTuple):
    """Requests of one category."""

    flows: Flows
    requests: I64


class Traits(NamedTuple):
    """The traits of some requests, and for which requests they are true."""

    traits: list[Trait]
    true: Mask
    """A matrix with a row per request, group after group, and a column per trait."""


def traits_of(groups: Sequence[Members], least: int, place: int | None = None) -> Traits:
    """Return the traits that are true for at least `least` requests and false for as many.

    `place` is a call that is also examined separately if other calls have its label; all groups must then be of one
    category.
    """
    count = sum(len(group.requests) for group in groups)
    traits: list[Trait] = []
    columns: list[Mask] = []
    seen: set[bytes] = set()
    for trait, true in _candidates(groups, count, place):
        holds = int(true.sum())
        if holds < least or count - holds < least:
            continue
        packed = np.packbits(true).tobytes()
        if packed not in seen:
            seen.add(packed)
            traits.append(trait)
            columns.append(true)
    return Traits(traits, np.stack(columns, 1) if columns else np.zeros((count, 0), bool))


def _candidates(groups: Sequence[Members], count: int, place: int | None) -> Iterator[tuple[Trait, Mask]]:
    yield from _values(groups, count)
    if place is not None:
        yield from _instances(groups, count, place)
    yield from _instances(groups, count)
    yield from _failures(groups, count)
    yield from _logs(groups, count)


def _with_rows(groups: Sequence[Members]) -> Iterator[tuple[Members, slice]]:
    """Yield each group with the range of its rows."""
    begin = 0
    for group in groups:
        yield group, slice(begin, begin + len(group.requests))
        begin += len(group.requests)


def _shared(groups: Sequence[Members]) -> dict[str, None]:
    """Return the labels that all groups have, in the order of the first group's flow."""
    found = [
        dict.fromkeys(
            group.flows.labels[code] for code in group.flows.label[group.flows.places(int(group.requests[0]))].tolist()
        )
        for group in groups
        if len(group.requests)
    ]
    return {label: None for label in found[0] if all(label in other for other in found[1:])} if found else {}


def _by_label(groups: Sequence[Members]) -> Iterator[tuple[Members, slice, str, I64]]:
    """Yield each group with each label that all groups share, its rows, and the calls with the label."""
    shared = _shared(groups)
    for group, rows in _with_rows(groups):
        if not len(group.requests):
            continue
        code = {label: number for number, label in enumerate(group.flows.labels)}
        own = group.flows.label[group.flows.places(int(group.requests[0]))]
        for label in shared:
            yield group, rows, label, np.flatnonzero(own == code[label])


def _instances(groups: Sequence[Members], count: int, place: int | None = None) -> Iterator[tuple[Trait, Mask]]:
    """Yield the traits for the instances that calls ran on; with `place`, only of that call."""
    found: dict[tuple[str, str], Mask] = defaultdict(lambda: np.zeros(count, bool))
    sides: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for group, rows, label, places in _by_label(groups):
        if place is not None and (place not in places or len(places) == 1):
            continue
        flows = group.flows
        instance = flows.instance[flows.first[group.requests][:, None] + (places if place is None else place)]
        for code in np.unique(instance).tolist():
            found[label, flows.instances[code]][rows] |= (instance == code).any(1)
            sides[label][id(flows)].add(flows.instances[code])
    of = "" if place is None else "the slower call of "
    for (label, instance), true in found.items():
        # Skip instance names that the sides do not share: they change with each start and only identify the side.
        if len(sides[label]) == 1 or set.intersection(*sides[label].values()):
            words = f"{of}{label}"
            yield Trait("instance", label, f"{words} ran on {instance}", f"{words} did not run on {instance}"), true


def _failures(groups: Sequence[Members], count: int) -> Iterator[tuple[Trait, Mask]]:
    found: dict[str, Mask] = defaultdict(lambda: np.zeros(count, bool))
    for group, rows, label, places in _by_label(groups):
        failed = group.flows.failed[group.flows.first[group.requests][:, None] + places].any(1)
        if failed.any():
            found[label][rows] |= failed
    for label, true in found.items():
        yield Trait("failure", label, f"{label} failed", f"{label} did not fail"), true


def _logs(groups: Sequence[Members], count: int) -> Iterator[tuple[Trait, Mask]]:
    """Yield the traits for logged messages."""
    found: dict[str, Mask] = defaultdict(lambda: np.zeros(count, bool))
    for group, rows in _with_rows(groups):
        flows = group.flows
        first = np.searchsorted(flows.log_call, flows.first)
        begin, end = first[group.requests], first[group.requests + 1]
        owner = np.repeat(np.arange(len(begin)), end - begin)
        template = flows.log_template[expand(begin, end)]
        for code in np.unique(template).tolist():
            found[flows.templates[code]][rows.start + owner[template == code]] = True
    for message, true in found.items():
        text = _cut(message.replace(SLOT, "…"))
        yield Trait("log", text, f"“{text}” was logged", f"“{text}” was not logged"), true


def _values(groups: Sequence[Members], count: int) -> Iterator[tuple[Trait, Mask]]:
    """Yield the traits for recorded values, as numbers and as texts."""
    texts: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    numbers: dict[tuple[str, str], list[tuple[int, float]]] = defaultdict(list)
    shared = _shared(groups)
    for group, rows in _with_rows(groups):
        values = values_of(group.flows, group.requests)
        for request, code, name, text in zip(
            values.request.tolist(), values.label.tolist(), values.name, values.text, strict=True
        ):
            for part, number, shown in _parts(text):
                key = group.flows.labels[code], name + part
                if key[0] not in shared:
                    continue
                if number is not None:
                    numbers[key].append((rows.start + request, number))
                texts[key][shown].append(rows.start + request)
    time = _times(groups)
    for (label, name), observed in numbers.items():
        yield from _above(label, name, observed, time)
    for (label, name), found in texts.items():
        if (label, name) in numbers and _is_counter(_largest(numbers[label, name], count), time):
            continue
        for text in sorted(found, key=lambda text: (-len(found[text]), text))[:VALUES]:
            true = np.zeros(count, bool)
            true[found[text]] = True
            shown = _cut(text)
            yield (
                Trait("parameter", label, f"{name} of {label} was {shown}", f"{name} of {label} was not {shown}"),
                true,
            )


def _above(
    label: str, name: str, observed: list[tuple[int, float]], time: list[tuple[slice, F64]]
) -> Iterator[tuple[Trait, Mask]]:
    """Yield the traits for a number above its quantiles, unless the number is a counter."""
    count = time[-1][0].stop
    value = _largest(observed, count)
    if _is_counter(value, time):
        return
    there = value[~np.isnan(value)]
    for bound in np.unique(np.quantile(there, np.linspace(0, 1, BOUNDS + 2)[1:-1], method="lower")).tolist():
        with np.errstate(invalid="ignore"):
            true = value > bound
        words = f"{name} of {label} was"
        yield Trait("parameter", label, f"{words} above {bound:g}", f"{words} not above {bound:g}"), true


def _largest(observed: list[tuple[int, float]], count: int) -> F64:
    """Return the largest observed number per request; NaN without a number."""
    value = np.full(count, np.nan)
    rows = np.array([row for row, _ in observed], np.int64)
    np.fmax.at(value, rows, np.array([number for _, number in observed]))
    return value


def _times(groups: Sequence[Members]) -> list[tuple[slice, F64]]:
    return [(rows, group.flows.start_ns[group.requests].astype(np.float64)) for group, rows in _with_rows(groups)]


def _is_counter(value: F64, time: list[tuple[slice, F64]]) -> bool:
    """Return whether the number increases or decreases with time in every group with enough values."""
    verdicts = []
    for rows, start in time:
        own = value[rows]
        there = ~np.isnan(own)
        if there.sum() < MIN_DISTINCT or len(np.unique(own[there])) < MIN_DISTINCT:
            continue
        ranks = np.argsort(np.argsort(np.stack((own[there], start[there])), axis=1, kind="stable"), axis=1)
        verdicts.append(abs(float(np.asarray(np.corrcoef(ranks))[0, 1])) >= COUNTER)
    return bool(verdicts) and all(verdicts)


def _parts(text: str) -> Iterator[tuple[str, float | None, str]]:
    """Yield a value, and its members by `[place]` or `[key]`: suffix of the name, number or None, and text."""
    yield "", _number(text), text
    if text[:1] not in ("(", "[", "{"):
        return
    try:
        members = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return  # cut off, or not a literal
    if isinstance(members, dict):
        pairs = list(members.items())
    elif isinstance(members, list | tuple):
        pairs = list(enumerate(members))
    else:
        return
    for key, member in pairs[:PARTS]:
        shown = repr(member)
        yield f"[{key!r}]", None if isinstance(member, str) else _number(shown), shown


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _cut(text: str) -> str:
    first, more, _ = text.partition("\n")
    return first if len(first) <= SHOWN and not more else f"{first[: SHOWN - 1]}…"
