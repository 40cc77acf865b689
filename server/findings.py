"""What changed since a baseline, by function: what made requests slower, who calls other things, and further suspects.

Invariant: a finding has its numbers: how much, in what share, of how many requests, and how surely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from clew.records.errors import ClewError
from clew.server import wording
from clew.server.aside import answered
from clew.server.files import same_file_key
from clew.server.protocol import CompareParams, LocalizeParams

if TYPE_CHECKING:
    from pathlib import Path

    from clew.compare.evidence import Evidence
    from clew.compare.mutations import Mutation, Mutations
    from clew.compare.suspects import Suspect
    from clew.graph.query import Run
    from clew.server.baseline import Baseline
    from clew.server.session import Session, Task

MOST = 20
"""Functions that are named; those that cost most."""
SHARE = 0.05
"""A function is named for at least this share of what a kind of requests takes longer."""
SUSPECTS = 5
"""Of the list of suspects the first so many are named,"""
BITS = 1.0
"""if their score is at least this,"""
ALPHA = 0.05
"""and p at most this."""
NAMED = 3
"""Kinds of requests, or calls, that one finding names; the rest is counted."""


@dataclass(frozen=True)
class Place:
    """A function where it was recorded."""

    path: str
    qualname: str
    line: int
    """Of its first decorator, else of its `def`."""
    folder: Path
    """Of the run that recorded it."""


@dataclass(frozen=True)
class Finding:
    kind: Literal["slower", "calls", "suspect"]
    label: str
    place: Place
    short: str
    """For a lens."""
    sentence: str
    cost_ns: float
    """Of all requests after."""
    params: CompareParams | LocalizeParams
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
    """Compares the requests of a run with those of a baseline. Raises `ClewError`, also where there are none, and `Cancelled`
    between two phases."""
    return answered(session, (*before.runs, after), task, _find, before, after)


def _find(session: Session, before: Baseline, after: str, task: Task) -> Findings:
    from clew.compare.suspects import localize
    from clew.server.panel.compare import category_id
    from clew.server.panel.compare_sides import compared

    found = compared(session, CompareParams(list(before.runs), [after]), task)
    for side, flows in zip((found.before, found.after), found.flows, strict=True):
        if not len(flows):
            names = ", ".join(each.run.info.name for each in side)
            raise ClewError(
                f"there are no requests in {names}; a spec says where they begin: `request MODULE:FUNCTION as NAME;`"
            )
    mutations = found.mutations
    question = _Question(
        before,
        after,
        Places([each.run for each in (*found.after, *found.before)]),
        [category_id(key) for key in mutations.pairing.keys],
    )
    named = [*_slower(mutations, question), *_calls(mutations, question)]
    named.sort(key=lambda one: (-one.cost_ns, one.label, one.kind))
    task.phase("looking for suspects")
    known = {one.label for one in named}
    suspects = localize(found.flows[1], found.flows[0]).suspects
    named += [one for one in _suspects(suspects, question) if one.label not in known]
    return Findings(tuple(named[:MOST]))


class Places:
    """Where functions are, by label, in the first run that knows."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._known: dict[str, Place] = {}
        for run in runs:
            for site in run.graph.sites:
                if site.file and not site.is_adapter:
                    self._known.setdefault(site.label, Place(site.file, site.qualname, site.line, run.folder))

    def of(self, label: str) -> Place | None:
        return self._known.get(label)


@dataclass(frozen=True)
class _Question:
    before: Baseline
    after: str
    places: Places
    categories: list[str]
    """By number, what the panel calls them."""

    def category(self, mutation: Mutation) -> CompareParams:
        return CompareParams(list(self.before.runs), [self.after], category=self.categories[mutation.category])


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


def _slower(mutations: Mutations, question: _Question) -> Iterable[Finding]:
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
        place = question.places.of(label)
        if place is not None:
            yield _slower_finding(label, place, sorted(of, key=lambda part: -part.cost), question)


def _slower_finding(label: str, place: Place, parts: list[_Part], question: _Question) -> Finding:
    count = sum(part.mutation.count_after for part in parts)
    earlier = sum(part.mutation.count_before for part in parts)
    own_before, own_after = (
        sum(getattr(part, name) * part.mutation.count_after for part in parts) / count
        for name in ("own_before", "own_after")
    )
    growth = f"+{wording.duration(own_after - own_before)} ({_ratio(own_before, own_after)})"
    together = " in all its calls" if any(part.calls > 1 for part in parts) else ""
    sure, before = _p(parts[0].p), question.before.name
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
        params=question.category(parts[0].mutation),
        related=tuple(one for part in parts[:NAMED] for one in _requests(part.mutation, question.places)),
    )


def _calls(mutations: Mutations, question: _Question) -> Iterable[Finding]:
    """Functions that call what they did not call in the flow that the new one comes from, the uppermost of them."""
    found: dict[str, Finding] = {}
    places, before = question.places, question.before.name
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
                params=question.category(mutation),
                related=tuple(_requests(mutation, places)),
            )
    return found.values()


def _suspects(suspects: Sequence[Suspect], question: _Question) -> Iterable[Finding]:
    """The first of the one list from all kinds of evidence: also errors, logs, ways between functions and single instances."""
    before = question.before
    for rank, suspect in enumerate(suspects[:SUSPECTS], 1):
        first = suspect.evidence[0]
        place = question.places.of(suspect.method)
        if place is None or suspect.score < BITS or first.p is None or first.p > ALPHA:
            continue
        said = [piece.sentence() for piece in suspect.evidence[:NAMED]]
        yield Finding(
            kind="suspect",
            label=suspect.method,
            place=place,
            short=f"suspect {rank} since {before.name}: {_what_differs(first)}, "
            f"{wording.count(first.samples_after, 'request')}, {_p(first.p)}",
            sentence=f"suspect {rank} since {before.name}, {suspect.score:.1f} bits: {'; '.join(said)}; {_p(first.p)}",
            cost_ns=0.0,
            params=LocalizeParams([question.after], list(before.runs)),
        )


def _what_differs(piece: Evidence) -> str:
    """In a few words, with the numbers."""
    word = {"work": "itself", "waiting": "waits", "edge": "the way to it", "instance": piece.instance}.get(piece.kind)
    if word is not None:
        earlier = f"{wording.duration(piece.before)} -> " if piece.before is not None else ""
        return f"{word} {earlier}{wording.duration(piece.after or 0)}"
    what = {
        "call": f"calls {wording.short_label(piece.text)}",
        "error": piece.text or "fails",
        "log": "logs other messages",
    }[piece.kind]
    shares = [wording.percent(value) if value is not None else "?" for value in (piece.before, piece.after)]
    return f"{what} in {' -> '.join(shares)} of visits"


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
