"""The two sides of a comparison: runs, or one request of a run, with their flows.

Invariant: the last comparison is cached as long as its runs are open, so that switching between categories is fast.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.compare.requests.diff import Mutations, Thresholds, compare
from clew.graph.ops.flows.flows import Flows, concat, flows_of
from clew.records.errors import ClewError
from clew.records.format.event import Kind
from clew.server.protocol.views.compare import CompareParams
from clew.server.session.session import Session, Task

if TYPE_CHECKING:
    from clew.query.api import Run


NAMED = 20
"""Maximum number of request names in the error about an unknown request."""
PICKS = {"fastest": 0.0, "typical": 0.5, "slowest": 1.0}
"""Words for one request of a run, by the quantile of its response time."""


@dataclass(frozen=True)
class Chosen:
    """A run, or one request of it, by its event or by one of `PICKS`."""

    run: Run
    event: int | None = None
    pick: str = ""


@dataclass(frozen=True)
class Compared:
    before: tuple[Chosen, ...]
    after: tuple[Chosen, ...]
    mutations: Mutations

    @property
    def flows(self) -> tuple[Flows, Flows]:
        return self.mutations.pairing.sides

    @property
    def names(self) -> list[str]:
        """Return the names of all requests of the runs, compared or not; the most frequent first."""
        return [name for name, _ in _names(self.before + self.after).most_common()]


_LAST: weakref.WeakKeyDictionary[Session, tuple[object, Compared]] = weakref.WeakKeyDictionary()


def compared(session: Session, params: CompareParams, task: Task) -> Compared:
    """Raises `ClewError` for an unknown run, request or level."""
    sides = []
    for which, given in (("before", params.before), ("after", params.after)):
        if not given:
            raise ClewError(f"name a run to compare {which}")
        sides.append(tuple(_chosen(session, name, task) for name in given))
    before, after = sides
    question = (before, after, params.request, params.level, params.coalesce, params.anyOrder, params.thresholds)
    known = _LAST.get(session)
    if known is not None and known[0] == question:
        return known[1]
    task.phase("following requests")
    with task.interruptible():
        flows = [_flows(side, params) for side in sides]
    if params.request and not any(len(side) for side in flows):
        raise _no_such_request(before + after, params.request)
    task.phase("comparing")
    with task.interruptible():
        found = Compared(before, after, compare(flows[0], flows[1], Thresholds(**asdict(params.thresholds))))
    _LAST[session] = question, found
    return found


def whole_runs(session: Session, params: CompareParams) -> list[str]:
    """Return the runs that are read as a whole."""
    split = [_split(session, name) for name in (*params.before, *params.after)]
    return [which for which, of in split if not of.isdecimal()]


def _split(session: Session, name: str) -> tuple[str, str]:
    """Return a run, and the selection of one of its requests; "" for all of them."""
    which, mark, number = name.rpartition("@")
    if not mark or not (number.isdecimal() or number in PICKS) or _is_run(session, name):
        return name, ""
    return which, number


def _chosen(session: Session, name: str, task: Task) -> Chosen:
    which, of = _split(session, name)
    run = session.open(which, task)
    if not of.isdecimal():
        return Chosen(run, pick=of)
    event = int(of)
    if event >= len(run.graph) or run.graph.at("kind", event) != Kind.REQUEST:
        raise ClewError(
            f"{name}: event {event:,} of run {run.info.name} is not a request; "
            f"`clew slice --run {which} --where kind=request --direction forward --only kind=request --select id,channel,ts` "
            "lists them"
        )
    return Chosen(run, event)


def _is_run(session: Session, name: str) -> bool:
    try:
        session.folder(name)
    except ClewError:
        return False
    return True


def _flows(side: Sequence[Chosen], params: CompareParams) -> Flows:
    names = [params.request] if params.request else None
    options: dict[str, Any] = {"level": params.level, "coalesce": params.coalesce, "ordered": not params.anyOrder}
    parts = []
    for each in side:
        if each.event is not None:
            parts.append(flows_of(each.run, np.array([each.event], np.int64), **options))
            continue
        flows = Flows.of(each.run, names=names, **options)
        if each.pick and len(flows):
            order = np.argsort(flows.response_ns, kind="stable")
            flows = flows.take(order[[round(PICKS[each.pick] * (len(flows) - 1))]])
        parts.append(flows)
    return concat(*parts)


def _names(chosen: Sequence[Chosen]) -> Counter[str]:
    found: Counter[str] = Counter()
    for each in chosen:
        graph = each.run.graph
        rows = graph.rows_of([Kind.REQUEST]) if each.event is None else np.array([each.event], np.int64)
        if len(rows):
            codes, counts = np.unique(graph.extensions.channel[graph.ext[rows]], return_counts=True)
            for code, count in zip(codes.tolist(), counts.tolist(), strict=True):
                found[graph.strings[code]] += count
    return found


def _no_such_request(chosen: Sequence[Chosen], name: str) -> ClewError:
    return ClewError(f"no run has a request named {name!r}; {there_are(_names(chosen))}")


def there_are(names: Iterable[str]) -> str:
    """Return the request names for an error about an unknown one."""
    known = sorted(set(names))
    more = f" and {len(known) - NAMED:,} more" if len(known) > NAMED else ""
    return f"there are {', '.join(known[:NAMED])}{more}" if known else "the runs have no requests"
