"""Find a slot that nobody gave back, of a pool that no spec declares: all who came have ended, one by a cancellation.

A pool of a library gives each request an event of its own, and who leaves sets the event of the next. Its functions must be
recorded. A wait for such an event must have failed after at least 1 ms, and the following must hold:
 * each earlier call of the function that waits was made by the same function as this one, in another strand that has ended;
 * such an event was set in calls of that function alone, so nobody is left who could set this one;
 * one of the strands went on with a slot, and one was cancelled inside that function.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.ops.diagnoses import words
from clew.graph.ops.diagnoses.finding import Claim, Finding, Reason
from clew.graph.ops.diagnoses.places import place
from clew.graph.ops.diagnoses.significance import failed_waits, innermost_call, victims
from clew.graph.ops.facts.columns.views import I64, Mask
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Fact, Facts, Waiting
from clew.records.format.event import Kind
from clew.records.format.facts import Cancel

KIND = "slot-leaked"
_CHANNELS = frozenset({"event", "asyncio.event"})


@dataclass(frozen=True)
class _Use:
    """A call that came to the pool for a slot."""

    enter: int
    strand: int
    around: int
    """The call that asked for the slot and gives it back."""


def find(facts: Facts) -> list[Finding]:
    waits = failed_waits(facts)
    waits = waits.take(waits.of_channels(lambda channel: channel in _CHANNELS) & ~waits.ended("cancelled", "failed"))
    return [finding for wait in waits if (finding := _finding(facts, wait)) is not None]


def _finding(facts: Facts, wait: Waiting) -> Finding | None:
    until = Ends.of(facts).until_ns(wait)
    uses = _uses(facts, wait, until)
    gave = _last_given(facts, wait, until) if uses else -1
    cancels = [(use, cancel) for use in uses if (cancel := _cancelled_in(facts, use)) is not None]
    if gave < 0 or not cancels or not any(_got(facts, use) for use in uses):
        return None
    graph = facts.graph
    first = cancels[0][1]
    line = words.where(first.text.at, facts)
    cancelled = words.names(facts, [use.strand for use, cancel in cancels if cancel.strand == first.strand])
    others = words.names(facts, [use.strand for use in uses])
    by = f"{words.who(facts, first.strand)}{f' ({line})' if line else ''}"
    claims = (
        Claim(f"{words.waited(facts, wait)} {words.ending(facts, wait)}.", wait.rows),
        Claim(
            f"{others} had come there before and ended; {by} had cancelled {cancelled} at {words.offset(first.ns)}.",
            (*(row for use in uses for row in (use.enter, Ends.of(facts).row_of(use.strand))), first.row),
        ),
        Claim(
            f"The slot that {words.who(facts, graph.at('strand', gave))} gave last, at {words.offset(graph.at('ts', gave))}"
            f" ({place(facts, gave)}), was not given back.",
            (gave,),
        ),
    )
    site = graph.sites[graph.at("site", uses[0].around)]
    basis = f"only calls of {site.qualname} gave slots, and all earlier ones have ended"
    return Finding(KIND, Reason.RESOURCE, claims, victims(facts, [wait]), "inferred", basis)


def _uses(facts: Facts, wait: Waiting, until: int) -> list[_Use]:
    """Return the earlier calls of the function that waits, empty if one of them may still have a slot or is of another kind."""
    graph, ends = facts.graph, Ends.of(facts)
    call = innermost_call(facts, wait.begin.row)
    around = graph.enclosing_call(call) if call >= 0 else -1
    if around < 0:
        return []
    site, outer = graph.at("site", call), graph.at("site", around)
    process, found = graph.process_of(call).index, []
    for enter in graph.calls.enter[graph.site[graph.calls.enter] == site].tolist():
        if enter == call or graph.at("ts", enter) > until or graph.process_of(enter).index != process:
            continue
        use = _Use(enter, graph.at("strand", enter), graph.enclosing_call(enter))
        ended = ends.ns_of(use.strand)
        is_like = use.around >= 0 and graph.at("site", use.around) == outer
        if use.strand == wait.strand or not is_like or ended is None or ended > until:
            return []
        found.append(use)
    return found


def _last_given(facts: Facts, wait: Waiting, until: int) -> int:
    """Return the row that set an event of the pool last before a wait, -1 if other code than the pool's users may set them."""
    graph = facts.graph
    outer = graph.at("site", graph.enclosing_call(innermost_call(facts, wait.begin.row)))
    rows = graph.rows_of([Kind.RELEASE], wait.begin.channel)
    rows = rows[graph.ts[rows] <= until]
    rows = rows[np.argsort(graph.ts[rows], kind="stable")]
    inside = _inside(facts, rows, outer)
    sites = [graph.function_site(row) for row in rows.tolist()]
    of_users = {site for site, own in zip(sites, inside.tolist(), strict=True) if own}
    if any(site in of_users and not own for site, own in zip(sites, inside.tolist(), strict=True)):
        return -1
    given = rows[inside & (graph.ts[rows] <= wait.begin.ns)]
    return int(given[-1]) if len(given) else -1


def _inside(facts: Facts, rows: I64, site: int) -> Mask:
    """Return for each row whether it lies in a call from a site. A call that an exception resumed has no RESUME."""
    calls = facts.graph.calls
    chosen = facts.graph.site[calls.enter] == site
    inside = np.zeros(len(rows), bool)
    for enter, end in zip(calls.enter[chosen].tolist(), calls.exit[chosen].tolist(), strict=True):
        last = end if end >= 0 else facts.graph.strand_of(enter).stop
        inside |= (rows > enter) & (rows < last)
    return inside


def _got(facts: Facts, use: _Use) -> bool:
    """Return whether a call went on with a slot: it returned, and no wait in it failed."""
    graph, end = facts.graph, facts.graph.exit_of(use.enter)
    if end < 0 or graph.at("kind", end) != Kind.EXIT:
        return False
    waits = facts.waits_of.of(use.strand)
    inside = waits.take((waits.row > use.enter) & (waits.row < end))
    return not inside.ended("timeout", "failed", "cancelled", "never").any()


def _cancelled_in(facts: Facts, use: _Use) -> Fact[Cancel] | None:
    """Return who cancelled the task of a use while it lasted, if that ended the task."""
    graph, strand = facts.graph, facts.graph.strands[use.strand]
    ended, end = facts.ended.get(use.strand), graph.exit_of(use.around)
    if ended is None or ended.text.end != "cancelled" or end < 0:
        return None
    asked = facts.cancels_by_target.get((strand.process, strand.key), [])
    begin, until = graph.at("ts", use.around), graph.at("ts", end)
    return next((cancel for cancel in asked if begin <= cancel.ns <= until), None)
