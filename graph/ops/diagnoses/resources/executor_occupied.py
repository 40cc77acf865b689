"""Find work that no worker of its executor could begin: all are occupied, perhaps by strands that wait for this very work.

Someone must have waited for the work at least 1 ms in vain. If every worker leads back to that strand in the wait-for graph,
the finding is a circle. Otherwise it says only what occupied the workers, and only if they had begun it before the work was
submitted, did not end it meanwhile, and the wait lasted at least 50 ms: a queue that moves is ordinary.
"""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.resources.wait_circle import at_end
from clew.graph.ops.diagnoses.significance import failed, victims
from clew.graph.ops.facts.blockers import Blockers, Link
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Waiting
from clew.graph.ops.facts.moments import Moments
from clew.graph.ops.facts.started_work import StartedWork
from clew.graph.ops.facts.work_items import WorkItem, WorkItems

KIND = "executor-occupied"
OCCUPIED_NS = 50_000_000
MOST_DEPTH = 64


def find(facts: Facts) -> list[Finding]:
    items = WorkItems.of(facts)
    if not items.all:
        return []
    started, ends = StartedWork.of(facts), Ends.of(facts)
    found: dict[int, Finding] = {}
    for wait in facts.waits:
        if not failed(facts, wait):
            continue
        named = started.item(wait, wait.begin.ns)
        if named is None or named[0].submit in found or not named[0].waits_at(ends.until_ns(wait) - 1):
            continue
        finding = _found(facts, wait, *named)
        if finding is not None:
            found[named[0].submit] = finding
    return list(found.values())


def _found(facts: Facts, wait: Waiting, item: WorkItem, basis: str) -> Finding | None:
    items, ends = WorkItems.of(facts), Ends.of(facts)
    links = at_end(facts, wait, lambda ns: _circle(facts, wait, item, ns))
    moment = ends.until_ns(wait) - 1
    pool = items.pool_at(item, moment)
    running = items.occupied(pool[0], moment) if pool else None
    if pool is None or not running:
        return None
    bases = [f"the work: {basis}"] if basis else []
    named = {facts.strand_of(wait.begin.process, holder) for holder in wait.begin.text.holders}
    if not pool[1] and named.isdisjoint(each.worker for each in running):
        bases.append("the executor: it is the only one of the process without a free worker")
    if not links and not _is_stuck(facts, wait, item, running):
        return None
    bases += dict.fromkeys(f"{words.who(facts, link.target)}: {link.basis}" for link in links if link.basis)
    waits = [wait, *(link.wait for link in links)]
    return Finding(
        KIND,
        Reason.RESOURCE,
        tuple(_claims(facts, wait, item, running, links)),
        victims(facts, waits),
        "inferred" if bases else "recorded",
        "; ".join(bases),
    )


def _is_stuck(facts: Facts, wait: Waiting, item: WorkItem, running: list[WorkItem]) -> bool:
    lasted = Ends.of(facts).lasted_ns(wait)
    return lasted >= OCCUPIED_NS and all(each.begin_ns <= item.submit_ns for each in running)


def _circle(facts: Facts, wait: Waiting, item: WorkItem, ns: int) -> list[Link]:
    """Return the links from the first worker back to the strand that waits for the work; empty if a worker does not wait."""
    items = WorkItems.of(facts)
    moment = min(ns, Ends.of(facts).until_ns(wait) - 1)
    pool = items.pool_at(item, moment)
    running = items.occupied(pool[0], moment) if pool else None
    found: list[Link] = []
    for each in running or ():
        links = _back(facts, each.worker, wait.strand, moment, {each.worker})
        if not links:
            return []
        found = found or links
    return found


def _back(facts: Facts, strand: int, goal: int, ns: int, seen: set[int]) -> list[Link]:
    """Return links from a strand to the goal, also through work that waits in the queue of an executor."""
    if len(seen) > MOST_DEPTH:
        return []
    links = Blockers.of(facts).of_strand(strand, ns) + _queued(facts, strand, ns)
    for link in links:
        if link.target == goal:
            return [link]
    for link in links:
        slots = [each for each in links if each.wait is link.wait and each.how == "holds"]
        if link.target in seen or len(slots) > 1:
            continue
        seen.add(link.target)
        further = _back(facts, link.target, goal, ns, seen)
        if further:
            return [link, *further]
    return []


def _queued(facts: Facts, strand: int, ns: int) -> list[Link]:
    """Return a link to the worker of an executor of one thread that must run the work that a strand waits for."""
    items, started, found = WorkItems.of(facts), StartedWork.of(facts), []
    for wait in Moments.of(facts).at(strand, ns):
        named = started.item(wait, ns)
        if named is None or not named[0].waits_at(ns):
            continue
        pool = items.pool_at(named[0], ns)
        running = items.occupied(pool[0], ns) if pool else None
        if running is not None and len(running) == 1:
            rows = (named[0].submit, running[0].begin)
            found.append(Link(wait, running[0].worker, "runs", rows, None, named[1]))
    return found


def _claims(facts: Facts, wait: Waiting, item: WorkItem, running: list[WorkItem], links: list[Link]) -> list[Claim]:
    submitted = f"{words.who(facts, item.submitter)} submitted work to an executor at {words.offset(item.submit_ns)}"
    never = "no worker began it meanwhile"
    waited = f"{words.waited(facts, wait)} {words.ending(facts, wait)}"
    who = f"{words.who(facts, wait.strand)} "
    same = item.submitter == wait.strand and waited.startswith(who)
    first = f"{submitted}{' and ' + waited[len(who) :] if same else '; ' + waited}, and {never}."
    jobs = [_job(facts, each) for each in running]
    rows = tuple(each.begin for each in running)
    if len(running) == 1:
        name, since = words.who(facts, running[0].worker), words.offset(running[0].begin_ns)
        second = f"The only worker, {name}, was occupied by {jobs[0]} from {since} on"
    else:
        since = words.offset(max(each.begin_ns for each in running))
        kinds = " and ".join(dict.fromkeys(jobs))
        second = f"All {len(running)} workers were occupied by {kinds}, the last from {since} on"
    if not links:
        return [Claim(first, (item.submit, *wait.rows)), Claim(f"{second}.", rows)]
    claims = [Claim(first, (item.submit, *wait.rows)), Claim(f"{second}.", rows)]
    claims.append(Claim(_around(facts, jobs, running, links), tuple(row for link in links for row in _rows(link))))
    return claims


def _around(facts: Facts, jobs: list[str], running: list[WorkItem], links: list[Link]) -> str:
    """Return the links in words: `middleware waited for view, which waited for db: a circle.`"""
    who = jobs[0] if len(running) == 1 else f"{jobs[0]} ({words.who(facts, running[0].worker)})"
    if len(running) > 1:
        who = f"Each of them waited in the end for that work: {who}"
    parts = [f"{who} waited for {words.who(facts, links[0].target)}"]
    parts += [f"which waited for {words.who(facts, link.target)}" for link in links[1:]]
    return f"{', '.join(parts)}, which waited for the submitted work: a circle."


def _rows(link: Link) -> tuple[int, ...]:
    return tuple(dict.fromkeys((*link.wait.rows, *link.rows)))


def _job(facts: Facts, item: WorkItem) -> str:
    stop = facts.graph.strands[item.worker].stop
    return words.first_function(facts, item.begin, stop) or "work"
