"""Faults of known places, put into traces of healthy requests: what `localize.py` and its test measure with.

Four kinds: `delay` (the network of one service: each message to and from it, and each query it makes), `cpu` (calls of one
service stall now and then), `exception` (visits of one service end early, with an error logged there or by those who called)
and `return` (visits return early and wrongly, most often without a word, and callers go on or give up). Service, size, share
of visits, numbers of requests, mix of requests, the instant from which on it is so (in half of the cases the first), and the
noise of a busy machine on all services are drawn. Invariant: a case is its seed.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from clew.compare.visits import Side, two_sides
from clew.graph.ops.flows import Flows

KINDS = ("delay", "cpu", "exception", "return")
LATENCY = ("delay", "cpu")
LEAST_VISITED = 4
"""Requests with the faulty service that a case has at least, once the fault is there."""
OTHER_DAY = 0.25
"""Share of the cases whose reference is of the day before or after."""
LATEST = 0.7
"""Share of the suspect period after which no fault begins."""


@dataclass(frozen=True)
class Case:
    kind: str
    service: str
    onset: float
    """When it began, as a share of the suspect period."""
    same_day: bool
    """Is the reference of the same day? Another day is another deployment, which differs by itself."""
    reference: Flows
    suspect: Flows


def make_case(periods: list[Flows], kind: str, seed: int) -> Case:
    """A reference of one healthy period, and requests of another, or of the other half, with the fault."""
    chance = np.random.default_rng([seed, KINDS.index(kind)])
    while True:
        before, after = _two_parts(periods, chance)
        sides = two_sides(before, after)
        seen = sides.suspect
        services = [code for code in np.unique(seen.service).tolist() if code != seen.service[0]]
        service = int(chance.choice(services))
        onset = chance.uniform(0, LATEST) if chance.random() < 0.5 else 0.0
        there = after.start_ns >= np.quantile(after.start_ns, onset)
        if len(np.unique(seen.request[(seen.service == service) & there[seen.request]])) >= LEAST_VISITED:
            break
    edits = [_Edit() for _ in range(len(after))]
    _noise(after, edits, chance)
    fault = {"delay": _delay, "cpu": _cpu, "exception": _exception, "return": _return}[kind]
    fault(seen, service, [edit if bad else _Edit() for edit, bad in zip(edits, there, strict=True)], chance)
    same_day = before.runs[0] is after.runs[0]
    return Case(kind, sides.services[service], onset, same_day, before, _rebuilt(after, edits))


def _two_parts(periods: list[Flows], chance: np.random.Generator) -> tuple[Flows, Flows]:
    order = chance.permutation(len(periods))
    one, other = periods[order[0]], periods[order[1 % len(periods)]]
    if chance.random() < OTHER_DAY:
        pools = np.arange(len(one)), np.arange(len(other))
    else:
        other = one
        halves = chance.permutation(len(one))
        pools = halves[: len(one) // 2], halves[len(one) // 2 :]
    parts = []
    for flows, pool, size in zip((one, other), pools, (1.0, chance.uniform(1.0, 2.5)), strict=True):
        # Another mix of requests: some categories are asked for more often.
        liking = chance.gamma(4.0, 1.0, int(flows.category.max()) + 1)[flows.category[pool]]
        count = int(size * len(pool))
        parts.append(flows.take(chance.choice(pool, count, p=liking / liking.sum()) if size > 1 else pool))
    return parts[0], parts[1]


class _Edit:
    """What changes in one request."""

    def __init__(self) -> None:
        self.inserted: list[tuple[float, float]] = []
        """Instants (ns since the request's begin) and how long everything after them is put off."""
        self.dropped: set[int] = set()
        """Calls, by place in the request."""
        self.silent: set[int] = set()
        """Logs, by place in the columns of logs."""
        self.logs: list[tuple[int, str, int]] = []
        """Place of the call, template, level."""
        self.failed: set[int] = set()


def _noise(flows: Flows, edits: list[_Edit], chance: np.random.Generator) -> None:
    """A busy machine: calls of all services stall now and then."""
    rate = chance.uniform(0, 0.02)
    for request, edit in enumerate(edits):
        at = flows.places(request)
        for place in np.flatnonzero(chance.random(at.stop - at.start) < rate).tolist():
            edit.inserted.append((_inside(flows, at.start + place), 1e6 * chance.lognormal(np.log(40), 0.8)))


def _inside(flows: Flows, call: int) -> float:
    """Shortly after it began."""
    return float(flows.begin_ns[call]) + min(float(flows.total_ns[call]) / 2, 1e3)


def _visits(seen: Side, service: int) -> dict[int, list[int]]:
    """Per request the calls that visits of a service begin with."""
    found: dict[int, list[int]] = {}
    for call in np.flatnonzero(seen.enters & (seen.service == service)).tolist():
        found.setdefault(int(seen.request[call]), []).append(call)
    return found


def _delay(seen: Side, service: int, edits: list[_Edit], chance: np.random.Generator) -> None:
    flows = seen.flows
    size, share = 1e6 * np.exp(chance.uniform(np.log(20), np.log(2000))), chance.choice([1.0, 1.0, 0.5])
    others = chance.random() < 0.7  # also what the service itself asks for
    inside = np.flatnonzero(np.bincount(seen.parent[seen.parent >= 0], minlength=len(seen.parent)) == 0)
    leaves = set(inside[seen.service[inside] == service].tolist())
    for call in range(len(seen.parent)):
        edit, edge = edits[seen.request[call]], seen.enters[call] and seen.parent[call] >= 0
        far = edge and (seen.service[call] == service or (others and seen.service[seen.parent[call]] == service))
        query = others and call in leaves and "SELECT" in flows.labels[flows.label[call]]
        if not (far or query) or chance.random() > share:
            continue
        start = float(flows.begin_ns[call])
        if far:
            low = float(flows.begin_ns[seen.parent[call]])
            edit.inserted.append(((max(start, low) + low) / 2, size * chance.uniform(0.3, 1.0)))
            edit.inserted.append((start + float(flows.total_ns[call]) + 1, size * chance.uniform(0.0, 0.5)))
        else:
            edit.inserted.append((_inside(flows, call), size * chance.uniform(0.3, 1.0)))


def _cpu(seen: Side, service: int, edits: list[_Edit], chance: np.random.Generator) -> None:
    flows = seen.flows
    size, share = 1e6 * np.exp(chance.uniform(np.log(20), np.log(300))), chance.uniform(0.05, 0.4)
    for call in np.flatnonzero(seen.service == service).tolist():
        if chance.random() < share:
            edits[seen.request[call]].inserted.append((_inside(flows, call), size * chance.lognormal(0, 0.6)))


def _exception(seen: Side, service: int, edits: list[_Edit], chance: np.random.Generator) -> None:
    share, loud, flagged = chance.uniform(0.3, 1.0), chance.random() < 0.85, chance.random() < 0.3
    ends, tells = chance.random() < 0.7, chance.random() < 0.6
    for request, calls in _visits(seen, service).items():
        edit = edits[request]
        for call in calls:
            if chance.random() < share:
                _cut(seen, edit, request, call, chance.random())
                if loud:
                    edit.logs.append((call, "ERROR planted exception at \0", 40))
                if flagged:
                    edit.failed.add(call - int(seen.flows.first[request]))
                _callers(seen, edit, request, call, ends=ends, tells=tells, level=40)


def _return(seen: Side, service: int, edits: list[_Edit], chance: np.random.Generator) -> None:
    share, speaks = chance.uniform(0.3, 1.0), chance.random() < 0.3
    ends, tells = chance.random() < 0.5, chance.random() < 0.5
    for request, calls in _visits(seen, service).items():
        edit = edits[request]
        for call in calls:
            if chance.random() < share:
                _cut(seen, edit, request, call, 0.3 * chance.random())
                if speaks:
                    edit.logs.append((call, "planted other message \0", 20))
                _callers(seen, edit, request, call, ends=ends, tells=tells, level=30)


def _cut(seen: Side, edit: _Edit, request: int, call: int, part: float) -> None:
    """The visit ends after a part of its time: what it would have called and logged later is missing."""
    flows = seen.flows
    start = float(flows.begin_ns[call])
    _drop(seen, edit, request, call, start + part * float(flows.total_ns[call]))


def _drop(seen: Side, edit: _Edit, request: int, call: int, after: float) -> None:
    """Of a visit what begins after an instant, but for calls around it."""
    flows, first = seen.flows, int(seen.flows.first[request])
    at = flows.places(request)
    below = {call}
    for place in range(call + 1, at.stop):
        if int(seen.parent[place]) in below:
            gone = seen.parent[place] - first in edit.dropped
            if gone or float(flows.begin_ns[place]) > after:
                if place - first not in edit.dropped and not gone:
                    edit.inserted.append((float(flows.begin_ns[place]), -float(flows.total_ns[place])))
                edit.dropped.add(place - first)
            below.add(place)
    low, high = np.searchsorted(flows.log_call, [at.start, at.stop])
    graph = flows.runs[flows.run[request]].graph
    zero = int(graph.ts[flows.event[first]])
    for log in range(low, high):
        if int(flows.log_call[log]) in below and int(graph.ts[flows.log_event[log]]) - zero > after:
            edit.silent.add(log)


def _callers(seen: Side, edit: _Edit, request: int, call: int, *, ends: bool, tells: bool, level: int) -> None:
    """Whoever called it stops there, or says so."""
    flows, first = seen.flows, int(seen.flows.first[request])
    inner, outer = call, int(seen.parent[call])
    done = float(flows.begin_ns[call] + flows.total_ns[call])
    while outer >= 0 and (ends or tells):
        if seen.enters[inner]:
            above = int(seen.entries[seen.visit[outer]])
            if ends:
                _drop(seen, edit, request, above, done)
            if tells and seen.parent[above] >= 0 and outer - first not in edit.dropped:
                edit.logs.append((above, "planted: there was no answer for \0", level))
        inner, outer = outer, int(seen.parent[outer])


def _rebuilt(flows: Flows, edits: list[_Edit]) -> Flows:
    names = {template: code for code, template in enumerate(flows.templates)}
    columns: dict[str, list[npt.NDArray[Any]]] = {}
    first, response = [0], []
    for request, edit in enumerate(edits):
        at = flows.places(request)
        kept = np.array([place for place in range(at.stop - at.start) if place not in edit.dropped], np.int64)
        place = np.full(at.stop - at.start, -1, np.int64)
        place[kept] = np.arange(len(kept))
        calls = {name: getattr(flows, name)[at][kept] for name in flows.matrix_columns}
        calls["parent"] = np.where(calls["parent"] >= 0, place[calls["parent"]], -1).astype(np.int32)
        start = _moved(calls["begin_ns"].astype(float), edit.inserted)
        stop = _moved((calls["begin_ns"] + calls["total_ns"]).astype(float), edit.inserted)
        calls["begin_ns"] = start.astype(np.int64)
        calls["total_ns"] = np.maximum(stop - start, 0).astype(np.int64)
        failed = place[[call for call in edit.failed if place[call] >= 0]] if edit.failed else []
        calls["failed"] = calls["failed"].copy()
        calls["failed"][failed] = True
        response.append(calls["total_ns"][0])
        low, high = np.searchsorted(flows.log_call, [at.start, at.stop])
        those = np.array([log for log in range(low, high) if log not in edit.silent], np.int64)
        those = those[place[flows.log_call[those] - at.start] >= 0] if len(those) else those
        log_call = place[flows.log_call[those] - at.start].tolist()
        rows = list(zip(log_call, flows.log_template[those].tolist(), flows.log_level[those].tolist(),
                        flows.log_event[those].tolist(), strict=True))  # fmt: skip
        for call, template, level in edit.logs:
            if place[call - at.start] >= 0:
                code = names.setdefault(template, len(names))
                rows.append((int(place[call - at.start]), code, level, int(flows.event[call])))
        rows.sort(key=lambda row: row[0])
        logs = np.array(rows, np.int64).reshape(-1, 4)
        calls |= {
            "log_call": logs[:, 0] + first[-1],
            "log_template": logs[:, 1],
            "log_level": logs[:, 2],
            "log_event": logs[:, 3],
        }
        for name, column in calls.items():
            columns.setdefault(name, []).append(column)
        first.append(first[-1] + len(kept))
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    shapes: dict[bytes, int] = {}
    category = []
    for low, high in itertools.pairwise(first):
        shape = joined["label"][low:high].tobytes() + joined["parent"][low:high].tobytes()
        category.append(shapes.setdefault(shape, len(shapes)))
    return replace(
        flows, **joined, first=np.array(first, np.int64), response_ns=np.array(response, np.int64), templates=tuple(names),
        category=np.array(category, np.int32),
        categories=tuple(flows.categories[0]._replace(shape=number) for number in range(len(shapes))),
    )  # fmt: skip


def _moved(instants: npt.NDArray[np.float64], inserted: list[tuple[float, float]]) -> npt.NDArray[np.float64]:
    """Where instants are, once time is put in at some and taken out at others."""
    moved = instants.copy()
    for at, length in inserted:
        if length >= 0:
            moved += np.where(instants > at, length, 0.0)
        else:
            moved -= np.clip(instants - at, 0.0, -length)
    return moved
