"""Find circles: strands that wait for one another through what they hold, join, await or must run.

A circle is searched at the end of each wait that failed (time limit, cancellation, error, end of the recording) after at
least 1 ms. The first wait of a circle that ends can only end so: as long as all wait, none can be satisfied. Every other wait
of the circle must cover that moment. Of a resource with several slots, all holders have to wait in the circle, and of an
executor all workers. `executor-occupied` tells the circles through an executor.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.significance import failed_waits, victims
from clew.graph.ops.facts.blockers import Blockers, Link
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Waiting

KIND = "wait-circle"
MOST_STRANDS = 256
SLACK_NS = 5_000_000
"""The time that a cancellation may take from one wait to the next."""


@dataclass(frozen=True)
class Circle:
    """Strands that cannot go on, each because of others of them."""

    wait: Waiting
    """The wait that failed first."""
    links: list[Link]
    """The way from this wait back to its strand."""
    all: tuple[Link, ...]
    """All links between the strands, also of those beside the way on which it depends."""

    @property
    def waits(self) -> list[Waiting]:
        return list({link.wait.begin.row: link.wait for link in (*self.links, *self.all)}.values())

    @property
    def through_executor(self) -> bool:
        return any(link.how == "occupies" for link in self.links)


def find(facts: Facts) -> list[Finding]:
    return [_finding(facts, circle) for circle in circles(facts) if not circle.through_executor]


def circles(facts: Facts) -> list[Circle]:
    """Return the circles of a run."""
    known: list[Circle] | None = facts.graph.answers.get("circles")
    if known is not None:
        return known
    ends = Ends.of(facts)
    found: dict[frozenset[int], Circle] = {}
    waits = sorted(failed_waits(facts), key=lambda wait: (ends.until_ns(wait), wait.begin.ns))
    for wait in waits:
        circle = _at_end(facts, wait)
        if circle is not None:
            found.setdefault(frozenset(link.target for link in circle.all), circle)
    facts.graph.answers["circles"] = list(found.values())
    return list(found.values())


def _at_end(facts: Facts, wait: Waiting) -> Circle | None:
    """Return the circle through a failed wait at its end, else shortly before it.

    A cancellation reaches the outer of two waits, for example in `asyncio.wait_for`, before the inner one. Only such a wait,
    whose object is inferred, may have ended as satisfied before the end of `wait`.
    """
    ends, blockers = Ends.of(facts), Blockers.of(facts)
    until, lasted = ends.until_ns(wait), ends.lasted_ns(wait)
    found = search(blockers, wait, until)
    if found is not None or wait.end != "cancelled":
        return found
    found = search(blockers, wait, max(wait.begin.ns, until - max(lasted // 20, min(SLACK_NS, lasted // 2))))
    early = [
        link
        for link in (found.links if found else ())
        if not link.basis and link.wait.end == "satisfied" and ends.until_ns(link.wait) < until
    ]
    return None if early else found


def search(blockers: Blockers, wait: Waiting, ns: int) -> Circle | None:
    """Return the circle through a wait at a time, None if there is none.

    Of all strands that the wait depends on, those that can go on are left out, again and again: a strand can go on unless, for
    one thing that it needs, all alternatives are among the strands that are left.
    """
    own = blockers.links(wait, ns)
    if any(link.target == wait.strand and link.how != "occupies" for link in own):
        return None
    needs = {wait.strand: _groups(own)}
    queue = [wait.strand]
    while queue:
        for link in (link for group in needs[queue.pop(0)] for link in group):
            if link.target not in needs:
                if len(needs) >= MOST_STRANDS:
                    return None
                needs[link.target] = _groups(blockers.of_strand(link.target, ns))
                queue.append(link.target)
    free = {-1}
    while free:
        needs = {
            strand: [group for group in groups if all(link.target in needs for link in group)]
            for strand, groups in needs.items()
        }
        free = {strand for strand, groups in needs.items() if not groups}
        needs = {strand: groups for strand, groups in needs.items() if groups}
    if wait.strand not in needs:
        return None
    links = _way_back(
        wait.strand, {strand: [link for group in groups for link in group] for strand, groups in needs.items()}
    )
    return (
        Circle(wait, links, tuple(link for groups in needs.values() for group in groups for link in group))
        if links
        else None
    )


def _groups(links: list[Link]) -> list[list[Link]]:
    """Return the links of each thing that a strand needs: the alternatives, such as the holders of slots."""
    return [list(group) for _thing, group in groupby(links, key=lambda link: (link.wait.begin.row, link.how))]


def _way_back(start: int, links: dict[int, list[Link]]) -> list[Link]:
    """Return the shortest way along links from a strand back to itself, empty if there is none."""
    ways: dict[int, list[Link]] = {start: []}
    queue = [start]
    while queue:
        strand = queue.pop(0)
        for link in links[strand]:
            if link.target == start:
                return [*ways[strand], link]
            if link.target not in ways:
                ways[link.target] = [*ways[strand], link]
                queue.append(link.target)
    return []


def _finding(facts: Facts, circle: Circle) -> Finding:
    wait, links = circle.wait, circle.links
    first = Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}.", wait.rows)
    parts: list[str] = []
    events: list[int] = []
    last = len(links) - 1
    for place, link in enumerate(links):
        following = links[place + 1] if place < last else None
        parts.append(_part(facts, link, following, place == 0))
        events += link.rows
        if following is not None:
            events += following.wait.rows[:1]
    second = Claim(f"{'; '.join(parts)}: a deadlock.", tuple(dict.fromkeys(events)))
    basis = basis_of(facts, circle)
    return Finding(
        KIND,
        Reason.RESOURCE,
        (first, second),
        victims(facts, circle.waits),
        "inferred" if basis else "recorded",
        basis,
    )


def basis_of(facts: Facts, circle: Circle) -> str:
    """Return what the links of a circle were inferred from, "" if all were recorded."""
    found: dict[str, list[int]] = {}
    for link in (*circle.links, *circle.all):
        if link.basis:
            found.setdefault(link.basis, []).append(link.target)
    return "; ".join(f"{words.names(facts, targets)}: {basis}" for basis, targets in found.items())


def _part(facts: Facts, link: Link, following: Link | None, is_first: bool) -> str:
    """Return what the target of a link had or did, and what it waited for itself."""
    target = words.who(facts, link.target)
    if link.how == "holds" and link.holding is not None:
        text = words.held(facts, link.holding, link.wait)
        if not is_first:
            text = text.replace(" held it", " held that one", 1)
    elif link.how == "ends":
        text = (
            f"{target} could not end"
            if is_first
            else f"{words.who(facts, link.wait.strand)} waited for {target} to end"
        )
    elif link.how == "thread":
        text = f"{target} kept the thread {facts.graph.strands[link.target].thread_name}, which both need"
    else:
        text = f"{target} ran the work that {words.who(facts, link.wait.strand)} waited for"
    if following is None or following.how == "thread":
        return text
    thing = words.thing(following.wait, facts)
    if thing == words.thing(link.wait, facts) and following.wait.resource != link.wait.resource:
        thing = f"another {thing.removeprefix('a ')}"
    return f"{text} and itself waited for {thing}{words.place(following.wait, facts)}"
