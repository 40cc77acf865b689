"""Find circles: strands that wait for one another through what they hold, join, await or must run.

A circle is searched at the end of each wait that failed (time limit, cancellation, error, end of the recording) after at
least 1 ms. The first wait of a circle that ends can only end so: as long as all wait, none can be satisfied. Every other wait
of the circle must cover that moment. Of a resource with several slots, all holders have to wait in the circle.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import groupby

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.significance import failed, victims
from clew.graph.ops.facts.blockers import Blockers, Link
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Waiting

KIND = "wait-circle"
MOST_STRANDS = 64
MOST_VISITS = 2000
SLACK_NS = 5_000_000
"""The time that a cancellation may take from one wait to the next."""


def find(facts: Facts) -> list[Finding]:
    blockers, ends = Blockers.of(facts), Ends.of(facts)
    found: dict[frozenset[int], Finding] = {}
    waits = sorted(
        (wait for wait in facts.waits if failed(facts, wait)), key=lambda wait: (ends.until_ns(wait), wait.begin.ns)
    )
    for wait in waits:
        circle = at_end(facts, wait, partial(search, blockers, wait))
        if not circle:
            continue
        strands = frozenset(link.wait.strand for link in circle) | {link.target for link in circle}
        if strands not in found:
            found[strands] = _finding(facts, wait, circle)
    return list(found.values())


def at_end(facts: Facts, wait: Waiting, find: Callable[[int], list[Link]]) -> list[Link]:
    """Return the links that `find` finds at the end of a failed wait, else shortly before it.

    A cancellation reaches the outer of two waits, for example in `asyncio.wait_for`, before the inner one. Only such a wait,
    whose object is inferred, may have ended as satisfied before the end of `wait`.
    """
    ends = Ends.of(facts)
    until, lasted = ends.until_ns(wait), ends.lasted_ns(wait)
    found = find(until)
    if found or wait.end != "cancelled":
        return found
    found = find(max(wait.begin.ns, until - max(lasted // 20, min(SLACK_NS, lasted // 2))))
    early = [
        link for link in found if not link.basis and link.wait.end == "satisfied" and ends.until_ns(link.wait) < until
    ]
    return [] if early else found


def search(blockers: Blockers, wait: Waiting, ns: int) -> list[Link]:
    """Return the links of a circle through a wait at a time, the link of this wait first; empty if there is none."""
    visits = 0

    def back(strand: int, path: tuple[int, ...], links: list[Link]) -> list[Link]:
        """Return the links from `strand` to the first strand of the path."""
        nonlocal visits
        visits += 1
        if len(path) > MOST_STRANDS or visits > MOST_VISITS:
            return []
        for _resource, alternatives in groupby(links, key=lambda link: (link.wait.begin.row, link.how)):
            through: list[Link] = []
            for link in alternatives:
                if link.target == path[0]:
                    rest = [link]
                elif link.target in path:
                    continue  # This holder waits for what is decided here, so it decides nothing.
                else:
                    further = back(link.target, (*path, link.target), blockers.of_strand(link.target, ns))
                    rest = [link, *further] if further else []
                if not rest:
                    through = []
                    break
                through = through or rest
            if through:
                return through
        return []

    own = blockers.links(wait, ns)
    if any(link.target == wait.strand for link in own):
        return []
    return back(wait.strand, (wait.strand,), own)


def _finding(facts: Facts, wait: Waiting, circle: list[Link]) -> Finding:
    first = Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}.", wait.rows)
    parts: list[str] = []
    events: list[int] = []
    last = len(circle) - 1
    for place, link in enumerate(circle):
        following = circle[place + 1] if place < last else None
        parts.append(_part(facts, link, following, place == 0))
        events += link.rows
        if following is not None:
            events += following.wait.rows[:1]
    second = Claim(f"{'; '.join(parts)}: a deadlock.", tuple(dict.fromkeys(events)))
    bases = list(dict.fromkeys(f"{words.who(facts, link.target)}: {link.basis}" for link in circle if link.basis))
    waits = list({link.wait.begin.row: link.wait for link in circle}.values())
    return Finding(
        KIND,
        Reason.RESOURCE,
        (first, second),
        victims(facts, waits),
        "inferred" if bases else "recorded",
        "; ".join(bases),
    )


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
