"""Find a lock that its own holder waited for: a lock that is not reentrant, taken twice by one thread or task.

The wait must have failed after at least 1 ms. If it was satisfied, another strand released the lock, which then serves as a
signal. The finding also tells what ran between the two: a function that the holder called, or code that interrupted it, namely
a finalizer or the handler of a signal. The garbage collector and the loss of a last reference run finalizers anywhere.
"""

from __future__ import annotations

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.significance import failed_or_refused, victims
from clew.graph.ops.facts.blockers import Blockers, is_exclusive
from clew.graph.ops.facts.columns.waits import DECLARED
from clew.graph.ops.facts.facts import Facts, Holding, Waiting
from clew.records.format.event import Kind
from clew.records.format.facts import MOST_FRAMES

KIND = "retaken-by-holder"
_INTERRUPTIONS = {
    "gc": "the garbage collector ran",
    "finalize": "an object was dropped; this ran",
    "signal": "a signal interrupted it; this ran",
}


def find(facts: Facts) -> list[Finding]:
    blockers = Blockers.of(facts)
    found: dict[tuple[tuple[int, int], int], Finding] = {}
    for wait in failed_or_refused(facts):
        if wait.begin.channel.startswith(DECLARED):
            finding = _all_slots(facts, wait)
            if finding is not None:
                found.setdefault((wait.resource, wait.strand), finding)
            continue
        if not is_exclusive(wait) or wait.begin.channel.endswith("rlock"):
            continue
        for holding, basis in blockers.holders(wait, wait.begin.ns):
            if holding.strand == wait.strand and not holding.before_fork and not basis:
                found.setdefault((wait.resource, wait.strand), _finding(facts, wait, holding))
    return list(found.values())


def _finding(facts: Facts, wait: Waiting, holding: Holding) -> Finding:
    text = words.held(facts, holding, wait).replace(" held it", " itself held it", 1)
    claims = [
        Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}.", wait.rows),
        Claim(f"{text}: the lock cannot be taken twice.", holding.rows),
    ]
    between = _between(facts, wait, holding)
    if between is not None:
        claims.append(between)
    return Finding(KIND, Reason.RESOURCE, tuple(claims), victims(facts, [wait]))


def _all_slots(facts: Facts, wait: Waiting) -> Finding | None:
    """Return the finding that the strand that waits for a slot of a declared pool has all of them itself."""
    held = [each for each, _basis in Blockers.of(facts).holders(wait, wait.begin.ns)]
    if not held or any(each.strand != wait.strand for each in held):
        return None
    many = (
        "its only slot" if len(held) == 1 else "both slots of it" if len(held) == 2 else f"all {len(held)} slots of it"
    )
    since, at = words.offset(held[0].since_ns), words.taken_at(facts, held[0])
    rows = tuple(row for each in held for row in each.rows)
    first = f"{'the first ' if len(held) > 1 else ''}from {since} on{f' ({at})' if at else ''}"
    claims = (
        Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}.", wait.rows),
        Claim(f"{words.who(facts, wait.strand)} itself held {many}, {first}.", rows),
    )
    return Finding(KIND, Reason.RESOURCE, claims, victims(facts, [wait]))


def _between(facts: Facts, wait: Waiting, holding: Holding) -> Claim | None:
    """Return what led from the lock's first acquire to the second one, None if nothing was recorded."""
    graph = facts.graph
    calls = list(graph.with_callers(graph.call_of(wait.begin.row)))[::-1]
    taken_in = _call_of_acquire(facts, calls, holding)
    calls = [row for row in calls if row > taken_in and (taken_in >= 0 or graph.at("ts", row) > holding.since_ns)]
    opener = _interruption(facts, wait.begin.row)
    if opener >= 0 and (opener > taken_in if taken_in >= 0 else graph.at("ts", opener) > holding.since_ns):
        calls = [row for row in calls if row > opener]
        how = f"Meanwhile {_INTERRUPTIONS[graph.channel(opener)]}"
    else:
        opener, how = -1, "Meanwhile it called"
    finalizer = next((row for row in calls if _function(facts, row).endswith("__del__")), -1)
    if opener < 0 and finalizer >= 0:
        how = "Meanwhile the last reference to an object was lost; this ran"
    first = finalizer if finalizer >= 0 else calls[0] if calls else -1
    if first < 0:
        return None
    site = graph.sites[graph.at("site", first)]
    what = f"{_function(facts, first)} ({words.base_name(site.file)}:{site.line})"
    return Claim(f"{how} {what}, which led to the second attempt.", tuple(row for row in (opener, first) if row >= 0))


def _call_of_acquire(facts: Facts, calls: list[int], holding: Holding) -> int:
    """Return the one of the calls in which the holder took the lock, -1 if it is unclear."""
    functions = [frame.function for frame in holding.at]
    for function in functions if len(functions) < MOST_FRAMES else functions[:1]:
        own = [row for row in calls if facts.graph.sites[facts.graph.at("site", row)].qualname == function]
        number = functions.count(function)
        if len(functions) == MOST_FRAMES:  # The stack may have been longer.
            number = sum(facts.graph.at("ts", row) <= holding.since_ns for row in own)
        if 0 < number <= len(own):
            return own[number - 1]
    return -1


def _interruption(facts: Facts, row: int) -> int:
    """Return the beginning of the innermost scope around a row that interrupts what its thread does, -1 for none."""
    graph = facts.graph
    region = graph.at("region", row)
    while region >= 0:
        opener = int(graph.regions.opener[region])
        if opener >= 0 and graph.at("kind", opener) == Kind.SCOPE_BEGIN and graph.channel(opener) in _INTERRUPTIONS:
            return opener
        region = int(graph.regions.parent[region])
    return -1


def _function(facts: Facts, call: int) -> str:
    return facts.graph.sites[facts.graph.at("site", call)].qualname.rpartition(".<locals>.")[2]
