"""Faults of known places, put into traces of healthy requests: what `localize.py` and its test measure with.

Five kinds: `delay` (the network of one service: each message to and from it, and each query it makes), `cpu` (calls of one
service stall now and then), `exception`, `return`, and `silent` (one service no longer writes one of its log lines, or
writes it less often, and does the rest as before). Service, size, share of visits, mix of requests, the
instant from which on it is so (in half of the cases the first), and the noise of a busy machine on all services are drawn.

Structural faults are as one gets them by changing a method of a running program, so that it throws or returns too early: they
sit at one place in the code of one service. Whichever visit comes to that place goes wrong there (in three of four cases each,
else those with certain data); visits that take another way through the service do not. The place is a step that a visit was
seen to take (a call or a log, with equal chance). An exception ends the visit there; most often the framework says so, in the
same words for every service. A wrong return ends the visit, or leaves out only what that step would have done; most often
nobody says so. What the code of a caller does about an error or a wrong value is drawn once per case and operation: it fails
itself, in the framework's words; or it says something, stops, both, or neither; and its own answer is wrong, too, or not.

Both sides are disturbed, whether there is a fault or not. An error of one kind comes in bursts: a service cannot reach
another one for a while, fails in the framework's words, which hold the name of the other service, and answers through the
framework's error page. Each burst has another service, so the suspect period often has the error where the reference has none.
And a service writes lists of objects into its messages, whose words are new customers' names.

A case with an even seed is for tuning, a case with an odd seed for judging: `half_of`. Invariant: a case is its seed.
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from clew.compare.localize.visits import Mask, Side, Sides, two_sides
from clew.graph.ops.flows.flows import Flows

KINDS = ("delay", "cpu", "exception", "return", "silent")
LATENCY = ("delay", "cpu")
Trace = Literal["speaks", "silent", "none"]
"""What a structural fault leaves in the visits of its own service: something that is said, only what is missing, or nothing."""
Half = Literal["tuning", "judging"]
UNHANDLED = "ERROR dispatcher: handler threw exception \0"
"""What the framework logs, of every service in the same words."""
LEAST_VISITED = 4
"""Requests with the faulty service that a case has at least, once the fault is there."""
LEAST_WRONG = 2
"""Visits that a structural fault makes go wrong at least."""
BACKGROUND = 0.7
"""Share of the cases with an error of another cause, on both sides."""
OTHER_DAY = 0.25
"""Share of the cases whose reference is of the day before or after."""
LOG_COLUMNS = ("log_call", "log_template", "log_level", "log_event")
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
    visits: int
    """Of the service that go wrong; of structural faults."""
    trace: Trace | None
    """Of structural faults."""


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
        if len(np.unique(seen.request[(seen.service == service) & there[seen.request]])) < LEAST_VISITED:
            continue
        edits = [_Edit() for _ in range(len(after))]
        _noise(after, edits, chance)
        bad = [edit if late else _Edit() for edit, late in zip(edits, there, strict=True)]
        if kind in LATENCY:
            {"delay": _delay, "cpu": _cpu}[kind](seen, service, bad, chance)
            planted = None
            break
        plant = {"exception": _exception, "return": _return, "silent": _silent}[kind]
        planted = plant(seen, service, bad, there, chance)
        if planted.visits >= LEAST_WRONG:
            break
    same_day = before.runs[0] is after.runs[0]
    before = _disturbed(sides, edits, chance)
    visits, trace = (planted.visits, planted.trace) if planted is not None else (0, None)
    return Case(kind, sides.services[service], onset, same_day, before, _rebuilt(after, edits), visits, trace)


def make_healthy(periods: list[Flows], seed: int) -> tuple[Flows, Flows]:
    """Two parts of one healthy period, with another mix of requests and a busy machine, but without a fault."""
    chance = np.random.default_rng([seed, len(KINDS)])
    before, after = _two_parts(periods, chance, other_day=0.0)
    edits = [_Edit() for _ in range(len(after))]
    _noise(after, edits, chance)
    return _disturbed(two_sides(before, after), edits, chance), _rebuilt(after, edits)


def half_of(seed: int) -> Half:
    """The half of the cases that a seed belongs to: methods are chosen with one, and judged by the other."""
    return "judging" if seed % 2 else "tuning"


def without_logs(flows: Flows) -> Flows:
    """The same requests, of whom only spans were collected."""
    return replace(flows, **{name: getattr(flows, name)[:0] for name in LOG_COLUMNS}, templates=())


def _two_parts(
    periods: list[Flows], chance: np.random.Generator, *, other_day: float = OTHER_DAY
) -> tuple[Flows, Flows]:
    """Half of a period's requests, and the others or those of another period. Each is there once: one that was drawn again
    would take the very same times again, a chance outlier become a habit that no real period has."""
    order = chance.permutation(len(periods))
    one, other = periods[order[0]], periods[order[1 % len(periods)]]
    another = chance.random() < other_day
    # Another mix of requests: some categories are asked for more often.
    liking = chance.gamma(4.0, 1.0, int(one.category.max()) + 1)[one.category]
    half = np.sort(chance.choice(len(one), len(one) // 2, replace=False, p=liking / liking.sum()))
    return one.take(half), other if another else one.take(np.setdiff1d(np.arange(len(one)), half))


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
        self.named: dict[int, str] = {}
        """New labels of calls, by place in the request."""


def _disturbed(sides: Sides, edits: list[_Edit], chance: np.random.Generator) -> Flows:
    """Disturb both sides; return the reference."""
    calm = [_Edit() for _ in range(len(sides.reference.flows))]
    services = np.unique(sides.suspect.service)
    if chance.random() < BACKGROUND:
        some = chance.choice(services, min(4, len(services)), replace=False)
        for side, of in zip(sides.both, (calm, edits), strict=True):
            for _ in range(int(chance.integers(1, 4))):
                _burst(sides, side, int(chance.choice(some)), of, chance)
    customers = [_customer(chance) for _ in range(16)]
    for service in chance.choice(services, min(2, len(services)), replace=False).tolist():
        _dump(sides.reference, service, calm, customers[:10], chance)
        _dump(sides.suspect, service, edits, customers[6:], chance)
    return _rebuilt(sides.reference.flows, calm)


def _burst(sides: Sides, side: Side, service: int, edits: list[_Edit], chance: np.random.Generator) -> None:
    """For a while, a service cannot reach another one: most of its visits fail in the framework's words."""
    begin, share, missing = chance.uniform(0, 0.9), chance.uniform(0.5, 1.0), str(chance.choice(sides.services))
    flows, reactions = side.flows, _Reactions(chance)
    low, high = np.quantile(flows.start_ns, [begin, min(begin + chance.uniform(0.1, 0.3), 1.0)])
    for request, calls in _visits(side, service).items():
        if not low <= flows.start_ns[request] <= high:
            continue
        edit, first = edits[request], int(flows.first[request])
        for call in calls:
            if chance.random() > share or call - first in edit.dropped:
                continue
            own = np.flatnonzero((side.parent == call) & (side.service == service))
            own = own[[int(place) - first not in edit.dropped for place in own]]
            _drop(side, edit, request, call, float(flows.begin_ns[own[0] if len(own) else call]))
            if len(own):
                edit.named[int(own[0]) - first] = f"{sides.services[service]}:ErrorPage.error"
            edit.logs.append((call, f"ERROR dispatcher: no instances available for {missing} \0", 40))
            _callers(side, edit, request, call, reactions, raised=True)


def _customer(chance: np.random.Generator) -> str:
    return "".join(chance.choice(["ka", "mi", "to", "ren", "sul", "ba", "ne", "val"], 3)).capitalize()


def _dump(side: Side, service: int, edits: list[_Edit], customers: list[str], chance: np.random.Generator) -> None:
    """A service logs the list that it answers, with the names of customers."""
    for request, calls in _visits(side, service).items():
        for call in calls:
            found = [
                f"Order(id=\0, bought by {chance.choice(customers)}, seat=\0)"
                for _ in range(int(chance.integers(1, 4)))
            ]
            edits[request].logs.append((call, f"INFO store: answer [{', '.join(found)}]", 20))


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


def _exception(seen: Side, service: int, edits: list[_Edit], there: Mask, chance: np.random.Generator) -> _Planted:
    loud, flagged, reactions = chance.random() < 0.85, chance.random() < 0.3, _Reactions(chance)
    planted = _Planted()
    for request, call, place in _reached(seen, service, there, chance):
        edit = edits[request]
        if call - int(seen.flows.first[request]) in edit.dropped:
            continue
        gone = _drop(seen, edit, request, call, place.instant - 1)
        if loud:
            edit.logs.append((call, UNHANDLED, 40))
        if flagged:
            edit.failed.add(call - int(seen.flows.first[request]))
        planted.add(gone=gone, says=loud or flagged)
        _callers(seen, edit, request, call, reactions, raised=True)
    return planted


def _return(seen: Side, service: int, edits: list[_Edit], there: Mask, chance: np.random.Generator) -> _Planted:
    ends, speaks, reactions = chance.random() < 0.6, chance.random() < 0.3, _Reactions(chance)
    raises = chance.random() < 0.2  # what is returned makes the service's own code fail
    planted = _Planted()
    for request, call, place in _reached(seen, service, there, chance):
        edit = edits[request]
        if call - int(seen.flows.first[request]) in edit.dropped:
            continue
        if ends or raises:
            gone = _drop(seen, edit, request, call, place.instant - 1)
        elif place.call >= 0:
            gone = _drop(seen, edit, request, place.call, place.instant)
        else:
            edit.silent.add(place.log)
            gone = 1
        if raises:
            edit.logs.append((call, UNHANDLED, 40))
        elif speaks:
            edit.logs.append((call, "planted other message \0", 20))
        planted.add(gone=gone, says=raises or speaks)
        _callers(seen, edit, request, call, reactions, raised=raises)
    return planted


def _silent(seen: Side, service: int, edits: list[_Edit], there: Mask, chance: np.random.Generator) -> _Planted:
    """A line is no longer written, or only the first time in a visit; nothing else changes."""
    flows, planted = seen.flows, _Planted()
    logs = np.flatnonzero((seen.service[flows.log_call] == service) & there[seen.request[flows.log_call]])
    if not len(logs):
        return planted
    line = int(chance.choice(seen.template[logs]))
    logs = logs[seen.template[logs] == line]
    _, again = np.unique(seen.visit[flows.log_call[logs]], return_index=True)
    often = len(logs) > 1.5 * len(again)
    left = set(logs[again].tolist()) if often and chance.random() < 0.5 else set()
    share = 1.0 if chance.random() < 0.75 else chance.uniform(0.5, 0.9)
    wrong: dict[int, bool] = {}
    for log in logs.tolist():
        visit, request = int(seen.visit[flows.log_call[log]]), int(seen.request[flows.log_call[log]])
        if log not in left and wrong.setdefault(visit, bool(chance.random() < share)):
            edits[request].silent.add(log)
    planted.visits, planted.gone = sum(wrong.values()), sum(wrong.values())
    return planted


class _Planted:
    """What is to be seen of a structural fault in the visits of its own service."""

    def __init__(self) -> None:
        self.visits, self.gone, self.says = 0, 0, False

    def add(self, *, gone: int, says: bool) -> None:
        self.visits += 1
        self.gone += gone
        self.says |= says

    @property
    def trace(self) -> Trace:
        return "speaks" if self.says else "silent" if self.gone else "none"


class _Point(NamedTuple):
    """Where in a visit the place in the code is."""

    instant: float
    """Since the request's begin, ns."""
    call: int
    """The call that begins there, or -1, and the log that is written there, or -1."""
    log: int


def _reached(seen: Side, service: int, there: Mask, chance: np.random.Generator) -> list[tuple[int, int, _Point]]:
    """A place in the service's code, and which visits come there: of each the request, its first call, and when. The
    place is the n-th call or log of one name, of one operation or of all that do the same."""
    visits = [(request, call) for request, calls in _visits(seen, service).items() for call in calls if there[request]]
    points = [_points(seen, request, call) for request, call in visits]
    drawn = int(chance.integers(len(visits)))
    names = list(points[drawn])
    name = names[int(chance.integers(len(names)))]
    operation = int(seen.label[visits[drawn][1]]) if chance.random() < 0.8 else -1
    share = 1.0 if chance.random() < 0.75 else chance.uniform(0.2, 0.9)
    return [
        (request, call, of[name])
        for (request, call), of in zip(visits, points, strict=True)
        if name in of and (operation in (-1, int(seen.label[call]))) and chance.random() < share
    ]


def _points(seen: Side, request: int, call: int) -> dict[tuple[str, int, int], _Point]:
    """The steps of a visit: its own calls and logs, each named by its kind, its label or template, and the how many-th."""
    flows = seen.flows
    at = flows.places(request)
    own = [place for place in range(call, at.stop) if seen.visit[place] == seen.visit[call]]
    steps = [(float(flows.begin_ns[place]), "call", int(seen.label[place]), place, -1) for place in own]
    graph = flows.runs[flows.run[request]].graph
    zero = int(graph.ts[flows.event[at.start]])
    for place in own:
        for log in range(*np.searchsorted(flows.log_call, [place, place + 1]).tolist()):
            instant = float(graph.ts[flows.log_event[log]] - zero)
            steps.append((instant, "log", int(seen.template[log]), -1, log))
    steps.sort()
    found: dict[tuple[str, int, int], _Point] = {}
    times: Counter[tuple[str, int]] = Counter()
    for instant, kind, code, place, log in steps:
        times[kind, code] += 1
        found[kind, code, times[kind, code]] = _Point(max(instant, float(flows.begin_ns[call])), place, log)
    return found


def _drop(seen: Side, edit: _Edit, request: int, call: int, after: float) -> int:
    """Of a visit what begins after an instant, but for calls around it; how much of it is of the service itself."""
    flows, first = seen.flows, int(seen.flows.first[request])
    at = flows.places(request)
    below, own = {call}, 0
    for place in range(call + 1, at.stop):
        if int(seen.parent[place]) in below:
            gone = seen.parent[place] - first in edit.dropped
            if gone or float(flows.begin_ns[place]) > after:
                if place - first not in edit.dropped and not gone:
                    edit.inserted.append((float(flows.begin_ns[place]), -float(flows.total_ns[place])))
                own += place - first not in edit.dropped and seen.service[place] == seen.service[call]
                edit.dropped.add(place - first)
            below.add(place)
    low, high = np.searchsorted(flows.log_call, [at.start, at.stop])
    graph = flows.runs[flows.run[request]].graph
    zero = int(graph.ts[flows.event[first]])
    for log in range(low, high):
        if int(flows.log_call[log]) in below and int(graph.ts[flows.log_event[log]]) - zero > after:
            own += log not in edit.silent and seen.service[flows.log_call[log]] == seen.service[call]
            edit.silent.add(log)
    return own


class _Reactions:
    """What the code of each caller does about an answer, the same at each time: drawn when first asked."""

    def __init__(self, chance: np.random.Generator) -> None:
        self.chance, self.known = chance, dict[tuple[int, bool], _Reaction]()

    def of(self, operation: int, *, raised: bool) -> _Reaction:
        """Of an operation to whom an error is answered, or a wrong value."""
        if (operation, raised) not in self.known:
            chance = self.chance
            fails = chance.random() < (0.7 if raised else 0.35)
            if fails:
                reaction = _Reaction(ends=True, level=40 if chance.random() < 0.85 else 0, raises=True, wrong=True)
            else:
                level = int(chance.choice([0, 20, 30, 40], p=[0.4, 0.2, 0.2, 0.2]))
                reaction = _Reaction(chance.random() < 0.5, level, raises=False, wrong=chance.random() < 0.5)
            self.known[operation, raised] = reaction
        return self.known[operation, raised]


class _Reaction(NamedTuple):
    ends: bool
    """Does it stop there?"""
    level: int
    """Of what it logs about it; 0 for nothing."""
    raises: bool
    """Does it end with an error itself?"""
    wrong: bool
    """Is its own answer wrong, too?"""


def _callers(seen: Side, edit: _Edit, request: int, call: int, reactions: _Reactions, *, raised: bool) -> None:
    """Those who wait for the answer, from the nearest to the farthest, until one makes up for it."""
    flows = seen.flows
    inner, outer = call, int(seen.parent[call])
    done = float(flows.begin_ns[call] + flows.total_ns[call])
    while outer >= 0:
        if seen.enters[inner]:
            above = int(seen.entries[seen.visit[outer]])
            reaction = reactions.of(int(seen.label[above]), raised=raised)
            if reaction.ends:
                _drop(seen, edit, request, above, done)
            if reaction.level and seen.parent[above] >= 0:
                edit.logs.append((above, UNHANDLED if reaction.raises else "planted: no answer for \0", reaction.level))
            if not reaction.wrong:
                return
            raised = reaction.raises
        inner, outer = outer, int(seen.parent[outer])


def _rebuilt(flows: Flows, edits: list[_Edit]) -> Flows:
    names = {template: code for code, template in enumerate(flows.templates)}
    labels = {label: code for code, label in enumerate(flows.labels)}
    columns: dict[str, list[npt.NDArray[Any]]] = {}
    first, response = [0], []
    for request, edit in enumerate(edits):
        at = flows.places(request)
        kept = np.array([place for place in range(at.stop - at.start) if place not in edit.dropped], np.int64)
        place = np.full(at.stop - at.start, -1, np.int64)
        place[kept] = np.arange(len(kept))
        calls = {name: getattr(flows, name)[at][kept] for name in flows.matrix_columns}
        calls["label"] = calls["label"].astype(np.int32)
        calls["parent"] = np.where(calls["parent"] >= 0, place[calls["parent"]], -1).astype(np.int32)
        for call, label in edit.named.items():
            if place[call] >= 0:
                calls["label"][place[call]] = labels.setdefault(label, len(labels))
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
        labels=tuple(labels),
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
