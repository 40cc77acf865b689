"""What a comparison of two runs says of single functions: what made requests slower, and who calls other things than before.

Invariant: a finding has its numbers: how much, in what share, of how many requests, and how surely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from clew.server import wording
from clew.server.files import same_file_key
from clew.server.protocol import CompareParams

if TYPE_CHECKING:
    from clew.compare.mutations import Mutation, Mutations
    from clew.graph.model import ExecutionGraph
    from clew.server.baseline import Baseline
    from clew.server.session import Session, Task

MOST = 20
"""Functions that are named; those that cost most."""
SHARE = 0.05
"""A function is named for at least this share of what a kind of requests takes longer."""
NAMED = 3
"""Kinds of requests, or calls, that one finding names; the rest is counted."""


NOWHERE = CompareParams([], [])


@dataclass(frozen=True)
class Place:
    """A function where it was recorded."""

    path: str
    qualname: str
    line: int
    """Of its first decorator, else of its `def`."""


@dataclass(frozen=True)
class Finding:
    kind: Literal["slower", "calls"]
    label: str
    place: Place
    short: str
    """For a lens."""
    sentence: str
    cost_ns: float
    """Of all requests after."""
    category: int
    """Number, in the comparison, of the category that it costs most in."""
    params: CompareParams = NOWHERE
    """What the panel shows of it."""
    related: tuple[tuple[str, Place], ...] = ()
    """What else belongs to it, and where."""


@dataclass(frozen=True)
class Findings:
    rows: tuple[Finding, ...]
    """Those that cost most first."""
    _by_file: dict[str, list[Finding]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for finding in self.rows:
            self._by_file.setdefault(same_file_key(finding.place.path), []).append(finding)

    def in_file(self, path: str) -> list[Finding]:
        return self._by_file.get(same_file_key(path), [])


def find(session: Session, before: Baseline, after: str, task: Task) -> Findings:
    """Compares the requests of a run with those of a baseline. Raises `ClewError`, and `Cancelled` between two phases."""
    from clew.server.panel.compare import category_id
    from clew.server.panel.compare_sides import compared

    params = CompareParams(list(before.runs), [after])
    found = compared(session, params, task)
    mutations, keys = found.mutations, found.mutations.pairing.keys
    places = Places([each.run.graph for each in (*found.after, *found.before)])
    named = [*_slower(mutations, places, before.name), *_calls(mutations, places, before.name)]
    named.sort(key=lambda one: (-one.cost_ns, one.label, one.kind))
    rows = tuple(replace(one, params=replace(params, category=category_id(keys[one.category]))) for one in named[:MOST])
    return Findings(rows)


class Places:
    """Where functions are, by label, in the first run that knows."""

    def __init__(self, graphs: Sequence[ExecutionGraph]) -> None:
        self._known: dict[str, Place] = {}
        for graph in graphs:
            for site in graph.sites:
                if site.file and not site.is_adapter:
                    self._known.setdefault(site.label, Place(site.file, site.qualname, site.line))

    def of(self, label: str) -> Place | None:
        return self._known.get(label)


@dataclass(frozen=True)
class _Part:
    """What one function has to do with one mutation; ns per request."""

    mutation: Mutation
    own_before: float
    own_after: float
    calls: int
    """Of the function in a request."""
    p: float

    @property
    def growth(self) -> float:
        return self.own_after - self.own_before

    @property
    def cost(self) -> float:
        return self.growth * self.mutation.count_after


def _slower(mutations: Mutations, places: Places, before: str) -> Iterable[Finding]:
    """Calls of one function count together: in one flow it may be called many times."""
    parts: dict[str, list[_Part]] = {}
    for mutation in mutations.of("response-time"):
        assert mutation.mean_before_ns is not None and mutation.mean_after_ns is not None
        least = SHARE * (mutation.mean_after_ns - mutation.mean_before_ns)
        for label in dict.fromkeys(edge.target for edge in mutation.edges):
            edges = [edge for edge in mutation.edges if edge.target == label]
            part = _Part(
                mutation,
                own_before=sum(edge.own_before_ns for edge in edges),
                own_after=sum(edge.own_after_ns for edge in edges),
                calls=len(edges),
                p=edges[0].p,
            )
            if part.growth >= least:
                parts.setdefault(label, []).append(part)
    for label, of in parts.items():
        place = places.of(label)
        if place is not None:
            yield _slower_finding(label, place, sorted(of, key=lambda part: -part.cost), places, before)


def _slower_finding(label: str, place: Place, parts: list[_Part], places: Places, before: str) -> Finding:
    count = sum(part.mutation.count_after for part in parts)
    earlier = sum(part.mutation.count_before for part in parts)
    own_before, own_after = (
        sum(getattr(part, name) * part.mutation.count_after for part in parts) / count
        for name in ("own_before", "own_after")
    )
    growth = f"+{wording.duration(own_after - own_before)} ({_ratio(own_before, own_after)})"
    together = " in all its calls" if any(part.calls > 1 for part in parts) else ""
    sure = _p(parts[0].p)
    kinds = list(dict.fromkeys(part.mutation.name for part in parts))
    return Finding(
        kind="slower",
        label=label,
        place=place,
        short=f"{growth} since {before}, {wording.count(count, 'request')}, {sure}",
        sentence=(
            f"{wording.short_label(label)} itself, waiting included, takes {wording.duration(own_before)} -> "
            f"{wording.duration(own_after)}{together} per request, {growth}, since {before}: in requests {_listed(kinds)}, "
            f"{earlier:,} before and {count:,} after, {sure}"
        ),
        cost_ns=sum(part.cost for part in parts),
        category=parts[0].mutation.category,
        related=tuple(one for part in parts[:NAMED] for one in _requests(part.mutation, places)),
    )


def _calls(mutations: Mutations, places: Places, before: str) -> Iterable[Finding]:
    """Functions that call what they did not call in the flow that the new one comes from, the uppermost of them."""
    found: dict[str, Finding] = {}
    for mutation in mutations.of("structural"):
        for label, change in _changes(mutation):
            place = places.of(label)
            if place is None or label in found:
                continue
            of = f"{wording.count(mutation.count_after, 'request')} {mutation.name}"
            had = f"{mutation.count_before:,} before" if mutation.count_before else "none before"
            found[label] = Finding(
                kind="calls",
                label=label,
                place=place,
                short=f"{change} since {before}, {wording.count(mutation.count_after, 'request')}, {_p(mutation.p)}",
                sentence=(
                    f"{wording.short_label(label)} {change} since {before}: in {of} of a flow that had {had}, "
                    f"{_p(mutation.p)}"
                ),
                cost_ns=mutation.cost_ns,
                category=mutation.category,
                related=tuple(_requests(mutation, places)),
            )
    return found.values()


def _changes(mutation: Mutation) -> Iterable[tuple[str, str]]:
    """(function, what it does now) of a structural mutation: beside its likeliest precursor; without one it is all new."""
    if not mutation.precursors:
        yield _first_call(mutation), "begins a flow that is new"
        return
    nearest = mutation.precursors[0]
    for word, pairs, other in (("more", nearest.added, nearest.removed), ("less", nearest.removed, nearest.added)):
        below = {target for _, target in pairs}
        kept = Counter(target for _, target in other)
        by_source: dict[str, Counter[str]] = {}
        for source, target in pairs:
            # What the added calls call themselves, and what only has another caller, is no change of the caller.
            if source not in below and target != source and not kept[target]:
                by_source.setdefault(source, Counter())[target] += 1
        for source, targets in by_source.items():
            names = [
                f"{wording.short_label(target)} {f'{many} times' if many > 1 else 'once'} {word}"
                for target, many in targets.most_common()
            ]
            yield source, f"calls {_listed(names)}"


def _first_call(mutation: Mutation) -> str:
    return mutation.flow.partition(" ")[0].partition(">")[0]


def _requests(mutation: Mutation, places: Places) -> list[tuple[str, Place]]:
    """The requests of a mutation, and where they begin, if that is known."""
    place = places.of(_first_call(mutation))
    if place is None:
        return []
    if mutation.kind == "structural" or mutation.mean_before_ns is None or mutation.mean_after_ns is None:
        times = f"{mutation.count_before:,} -> {mutation.count_after:,} of this flow"
    else:
        times = (
            f"{wording.duration(mutation.mean_before_ns)} -> {wording.duration(mutation.mean_after_ns)} over "
            f"{mutation.count_before:,} and {mutation.count_after:,}, {_p(mutation.p)}"
        )
    return [(f"requests {mutation.name}: {times}", place)]


def _ratio(before: float, after: float) -> str:
    if before <= 0:
        return "new"
    ratio = after / before
    return f"{100 * (ratio - 1):.0f} %" if ratio < 3 else f"×{ratio:.1f}" if ratio < 10 else f"×{ratio:,.0f}"


def _p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
