"""Changes since a baseline, by function: causes of slower requests, changed calls, and further suspects.

Invariant: a finding states its numbers: the size and the share of the change, the number of requests, and the
significance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from clew.records.errors import ClewError
from clew.server.locations.paths import same_file_key
from clew.server.protocol.views.compare import CompareParams
from clew.server.protocol.views.localize import LocalizeParams
from clew.server.session.answer_process import answered
from clew.server.text import units

if TYPE_CHECKING:
    from pathlib import Path

    from clew.compare.localize.evidence import Evidence
    from clew.compare.localize.ranking import Suspect
    from clew.compare.requests.diff import Mutation, Mutations
    from clew.query.api import Run
    from clew.server.session.baseline import Baseline
    from clew.server.session.session import Session, Task

MOST = 20
"""Maximum number of functions with findings; the most expensive ones are taken."""
SHARE = 0.05
"""A function gets a finding if it accounts for at least this share of the additional time of a kind of requests, without the
time in which they waited for their turn on an event loop.
"""
SUSPECTS = 5
"""Maximum number of suspects that are shown,"""
BITS = 1.0
"""the score that each of them needs at least,"""
ALPHA = 0.05
"""and the largest p that each of them may have."""
NAMED = 3
"""Maximum number of kinds of requests, or of calls, that one finding lists; it counts the rest."""


@dataclass(frozen=True)
class Place:
    """The location of a function in the recorded run."""

    path: str
    qualname: str
    line: int
    """The line of its first decorator, or of its `def`."""
    folder: Path
    """The folder of the run that recorded it."""


@dataclass(frozen=True)
class Finding:
    kind: Literal["slower", "calls", "suspect"]
    label: str
    place: Place
    short: str
    """The text for a lens."""
    sentence: str
    cost_ns: float
    """The additional time of all requests of the later run."""
    params: CompareParams | LocalizeParams
    """The parameters of the panel view that shows the finding."""
    related: tuple[tuple[str, Place], ...] = ()
    """Related texts with their locations."""


@dataclass(frozen=True)
class Findings:
    rows: tuple[Finding, ...]
    """The most expensive findings come first."""
    _by_file: dict[str, list[Finding]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for finding in self.rows:
            self._by_file.setdefault(same_file_key(finding.place.path), []).append(finding)

    def in_file(self, path: str) -> list[Finding]:
        return self._by_file.get(same_file_key(path), [])


def find(session: Session, before: Baseline, after: str, task: Task) -> Findings:
    """Compare the requests of a run with those of a baseline. Raises `ClewError`, also if a run has no requests, and
    `Cancelled` between two phases."""
    return answered(session, (*before.runs, after), task, _find, before, after)


def _find(session: Session, before: Baseline, after: str, task: Task) -> Findings:
    from clew.compare.localize.ranking import localize
    from clew.server.views.compare.sides import compared
    from clew.server.views.compare.view import category_id

    found = compared(session, CompareParams(list(before.runs), [after]), task)
    for side, flows in zip((found.before, found.after), found.flows, strict=True):
        if not len(flows):
            names = ", ".join(each.run.info.name for each in side)
            raise ClewError(
                f"there are no requests in {names}; mark where they begin in a spec: `request MODULE:FUNCTION as NAME;`"
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
    """Locations of functions by label, from the first run that knows the function."""

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
    """The panel's names of the categories, by number."""

    def category(self, mutation: Mutation) -> CompareParams:
        return CompareParams(list(self.before.runs), [self.after], category=self.categories[mutation.category])


@dataclass(frozen=True)
class _Part:
    """The contribution of one function to one mutation, in ns per request."""

    mutation: Mutation
    own_before: float
    own_after: float
    calls: int
    """Number of calls of the function in a request."""
    p: float

    @property
    def growth(self) -> float:
        return self.own_after - self.own_before

    @property
    def cost(self) -> float:
        return self.growth * self.mutation.count_after


def _slower(mutations: Mutations, question: _Question) -> Iterable[Finding]:
    """Calls of one function count together, because one flow may call it many times."""
    parts: dict[str, list[_Part]] = {}
    for mutation in mutations.slower:
        assert mutation.mean_before_ns is not None and mutation.mean_after_ns is not None
        # A request that waits for its turn waits for the work of others, which has findings of its own.
        turns_before, turns_after = mutation.turns_ns or (0.0, 0.0)
        least = SHARE * ((mutation.mean_after_ns - turns_after) - (mutation.mean_before_ns - turns_before))
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
    growth = f"+{units.duration(own_after - own_before)} ({_ratio(own_before, own_after)})"
    together = " in all its calls" if any(part.calls > 1 for part in parts) else ""
    sure, before = _p(parts[0].p), question.before.name
    kinds = list(dict.fromkeys(part.mutation.name for part in parts))
    return Finding(
        kind="slower",
        label=label,
        place=place,
        short=f"{growth} since {before}, {units.count(count, 'request')}, {sure}",
        sentence=(
            f"{units.short_label(label)} itself, waiting included, takes {units.duration(own_before)} -> "
            f"{units.duration(own_after)}{together} per request, {growth}, since {before}: in requests {_listed(kinds)}, "
            f"{earlier:,} before and {count:,} after, {sure}"
        ),
        cost_ns=sum(part.cost for part in parts),
        params=question.category(parts[0].mutation),
        related=tuple(one for part in parts[:NAMED] for one in _requests(part.mutation, question.places)),
    )


def _calls(mutations: Mutations, question: _Question) -> Iterable[Finding]:
    """Functions with calls that the precursor of the new flow does not contain. Only the outermost of these functions
    are reported."""
    found: dict[str, Finding] = {}
    places, before = question.places, question.before.name
    for mutation in mutations.of("structural"):
        for label, change in _changes(mutation):
            place = places.of(label)
            if place is None or label in found:
                continue
            of = f"{units.count(mutation.count_after, 'request')} {mutation.name}"
            had = f"{mutation.count_before:,} before" if mutation.count_before else "none before"
            found[label] = Finding(
                kind="calls",
                label=label,
                place=place,
                short=f"{change} since {before}, {units.count(mutation.count_after, 'request')}, {_p(mutation.p)}",
                sentence=(
                    f"{units.short_label(label)} {change} since {before}: in {of} of a flow that had {had}, "
                    f"{_p(mutation.p)}"
                ),
                cost_ns=mutation.cost_ns,
                params=question.category(mutation),
                related=tuple(_requests(mutation, places)),
            )
    return found.values()


def _suspects(suspects: Sequence[Suspect], question: _Question) -> Iterable[Finding]:
    """Findings for the first suspects of the combined ranking. Its evidence also covers errors, logs, edges between
    functions and single instances."""
    before = question.before
    for rank, suspect in enumerate(suspects[:SUSPECTS], 1):
        first = suspect.evidence[0]
        place = question.places.of(suspect.method)
        if place is None or suspect.score < BITS or first.p is None or first.p > ALPHA:
            continue
        sentences = [piece.sentence() for piece in suspect.evidence[:NAMED]]
        yield Finding(
            kind="suspect",
            label=suspect.method,
            place=place,
            short=f"suspect {rank} since {before.name}: {_what_differs(first)}, "
            f"{units.count(first.samples_after, 'request')}, {_p(first.p)}",
            sentence=f"suspect {rank} since {before.name}, {suspect.score:.1f} bits: {'; '.join(sentences)}; {_p(first.p)}",
            cost_ns=0.0,
            params=LocalizeParams([question.after], list(before.runs)),
        )


def _what_differs(piece: Evidence) -> str:
    """Return the evidence in a few words, with its numbers."""
    word = {"work": "itself", "waiting": "waits", "edge": "the path to it", "instance": piece.instance}.get(piece.kind)
    if word is not None:
        earlier = f"{units.duration(piece.before)} -> " if piece.before is not None else ""
        return f"{word} {earlier}{units.duration(piece.after or 0)}"
    what = {
        "call": f"calls {units.short_label(piece.text)}",
        "error": piece.text or "fails",
        "log": "logs other messages",
    }[piece.kind]
    shares = [units.percent(value) if value is not None else "?" for value in (piece.before, piece.after)]
    return f"{what} in {' -> '.join(shares)} of visits"


def _changes(mutation: Mutation) -> Iterable[tuple[str, str]]:
    """Yield (function, change) pairs of a structural mutation, compared with its likeliest precursor. Without a
    precursor the whole flow is new."""
    if not mutation.precursors:
        yield _first_call(mutation), "starts a new flow"
        return
    nearest = mutation.precursors[0]
    for word, pairs, other in (("more", nearest.added, nearest.removed), ("less", nearest.removed, nearest.added)):
        below = {target for _, target in pairs}
        opposite = Counter(target for _, target in other)
        by_source: dict[str, Counter[str]] = {}
        for source, target in pairs:
            # The callees of added calls, and calls that only have another caller, are no changes of the caller.
            if source not in below and target != source and not opposite[target]:
                by_source.setdefault(source, Counter())[target] += 1
        for source, targets in by_source.items():
            names = [
                f"{units.short_label(target)} {f'{many} times' if many > 1 else 'once'} {word}"
                for target, many in targets.most_common()
            ]
            yield source, f"calls {_listed(names)}"


def _first_call(mutation: Mutation) -> str:
    return mutation.flow.partition(" ")[0].partition(">")[0]


def _requests(mutation: Mutation, places: Places) -> list[tuple[str, Place]]:
    """Return the requests of a mutation with the location where they begin, if it is known."""
    place = places.of(_first_call(mutation))
    if place is None:
        return []
    if mutation.kind == "structural" or mutation.mean_before_ns is None or mutation.mean_after_ns is None:
        times = f"{mutation.count_before:,} -> {mutation.count_after:,} of this flow"
    else:
        times = (
            f"{units.duration(mutation.mean_before_ns)} -> {units.duration(mutation.mean_after_ns)} over "
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
