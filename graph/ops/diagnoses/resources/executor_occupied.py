"""Find work that no worker of its executor could begin: all are occupied, perhaps by work that waits for this very work.

Someone must have waited for the work at least 1 ms in vain. If that is part of a circle of `wait_circle`, the finding says so,
also where the wait that failed is another one of the circle. Otherwise it says only what occupied the workers, and only if they
had begun it before the work was submitted, did not end it meanwhile, and the wait lasted at least 50 ms: a queue that moves is
ordinary.
"""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.places import fact_place, in_brackets
from clew.graph.ops.diagnoses.resources.wait_circle import Circle, basis_of, circles
from clew.graph.ops.diagnoses.significance import failed_waits, victims
from clew.graph.ops.facts.blockers import Blockers, Link
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Waiting
from clew.graph.ops.facts.work.work_items import WorkItem, WorkItems

KIND = "executor-occupied"
OCCUPIED_NS = 50_000_000


def find(facts: Facts) -> list[Finding]:
    if not WorkItems.of(facts).all:
        return []
    found: dict[int, Finding] = {}
    for circle in circles(facts):
        if circle.through_executor:
            item, finding = _circle(facts, circle)
            found.setdefault(item.submit, finding)
    blockers, ends = Blockers.of(facts), Ends.of(facts)
    for wait in failed_waits(facts):
        if ends.lasted_ns(wait) < OCCUPIED_NS:
            continue
        for item, running, basis in blockers.queued(wait, ends.until_ns(wait) - 1):
            if item.submit not in found and all(each.begin_ns <= item.submit_ns for each in running):
                claims = _claims(facts, wait, item, running, wait)
                found[item.submit] = _finding(facts, claims, [wait], basis)
    return list(found.values())


def _circle(facts: Facts, circle: Circle) -> tuple[WorkItem, Finding]:
    """Return the finding for a circle through an executor, and the work that was not begun."""
    wait, links = circle.wait, circle.links
    place = next(place for place, link in enumerate(links) if link.how == "occupies")
    link = links[place]
    items = WorkItems.of(facts)
    item, pool = items.by_submit[link.rows[0]], items.pool_of(link.target)
    began = max(each.begin.ns for each in circle.waits)
    running = items.occupied(pool, Ends.of(facts).until_ns(wait) - 1) or items.occupied(pool, began) or []
    claims = _claims(facts, wait, item, running, link.wait)
    claims.append(_around(facts, running, [*links[place + 1 :], *links[: place + 1]]))
    return item, _finding(facts, claims, circle.waits, basis_of(facts, circle))


def _finding(facts: Facts, claims: list[Claim], waits: list[Waiting], basis: str) -> Finding:
    harmed = victims(facts, waits)
    return Finding(KIND, Reason.RESOURCE, tuple(claims), harmed, "inferred" if basis else "recorded", basis)


def _claims(facts: Facts, wait: Waiting, item: WorkItem, running: list[WorkItem], own: Waiting) -> list[Claim]:
    """Return who waited in vain, for which work, and what occupied the workers. `own` is the wait for the work itself."""
    submitted = f"{words.who(facts, item.submitter)} submitted work to an executor at {words.offset(item.submit_ns)}"
    waited = f"{words.waited(facts, wait)} {words.ending(facts, wait)}"
    if own is not wait:
        submitted = submitted.replace(" submitted work to", " had submitted to", 1)
        first = f"{waited}. That needed work that {submitted}{in_brackets(fact_place(facts, own.begin))}; no worker began it."
    else:
        who = f"{words.who(facts, wait.strand)} "
        same = item.submitter == wait.strand and waited.startswith(who)
        waited = f" and {waited[len(who) :]}" if same else f"; {waited}"
        first = f"{submitted}{waited}, and no worker began it meanwhile."
    claims = [Claim(first, (*wait.rows, item.submit, *(own.rows if own is not wait else ())))]
    jobs = [_job(facts, each) for each in running]
    if len(running) == 1:
        name, since = words.who(facts, running[0].worker), words.offset(running[0].begin_ns)
        second = f"The only worker, {name}, was occupied by {jobs[0]} from {since} on."
    else:
        since = words.offset(max((each.begin_ns for each in running), default=item.submit_ns))
        kinds = " and ".join(dict.fromkeys(jobs))
        second = f"All {len(running)} workers were occupied by {kinds}, the last from {since} on."
    return [*claims, Claim(second, tuple(each.begin for each in running) or (item.submit,))]


def _around(facts: Facts, running: list[WorkItem], links: list[Link]) -> Claim:
    """Return the links from a worker back to the submitted work in words: `job waited for view, which waited for …`."""
    first = links[0].wait.strand
    item = next((each for each in running if each.worker == first), None)
    subject = _job(facts, item) if item else words.who(facts, first)
    workers = {each.worker for each in running}
    parts = []
    for link in links:
        if link.how == "occupies" and (link is links[-1] or link.target in workers):
            parts.append("waited for the submitted work" if len(running) == 1 else "waited for submitted work")
            break
        of = "work queued behind " if link.how == "occupies" else ""
        parts.append(f"waited for {of}{words.who(facts, link.target)}")
    text = f"{subject} {', which '.join(parts)}"
    if len(running) > 1:
        how = f" in the end for work that only these workers run: {subject} ({words.who(facts, first)})"
        of_all = " for work that only these workers run" if len(parts) == 1 else f"{how} {', which '.join(parts)}"
        text = f"Each of them waited{of_all}"
    text = f"{text}: a circle."
    rows = dict.fromkeys(row for link in links for row in (*link.wait.rows, *link.rows))
    return Claim(text, tuple(rows))


def _job(facts: Facts, item: WorkItem) -> str:
    stop = facts.graph.strands[item.worker].stop
    return words.first_function(facts, item.begin, stop) or "work"
