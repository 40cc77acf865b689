"""The diagnoses, in the order in which an answer prefers them among equals."""

from __future__ import annotations

from collections.abc import Callable

from clew.graph.ops.diagnoses.control import (
    cancellation_spread,
    cancellation_swallowed,
    cleanup_interrupted,
    destroyed_pending,
    endless_reschedule,
    exception_not_taken,
    loop_not_woken,
    wake_up_lost,
)
from clew.graph.ops.diagnoses.data import closed_before_use, race, reply_of_another
from clew.graph.ops.diagnoses.finding import Finding
from clew.graph.ops.diagnoses.resources import (
    executor_occupied,
    giver_lost,
    held_by_waiter,
    holder_ended,
    item_not_returned,
    kept_slot,
    lock_held_at_fork,
    loop_blocked,
    retaken_by_holder,
    serialized_by_lock,
    slot_leaked,
    starved,
    wait_circle,
)
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.unfollowed import unfollowed, unfollowed_at
from clew.graph.store.findings_cache import WORTH_KEEPING, load, save
from clew.graph.store.lazy_graph import StoredGraph

DIAGNOSES: tuple[Callable[[Facts], list[Finding]], ...] = (
    reply_of_another.find,
    retaken_by_holder.find,
    lock_held_at_fork.find,
    wait_circle.find,
    executor_occupied.find,
    holder_ended.find,
    slot_leaked.find,
    kept_slot.find,
    item_not_returned.find,
    giver_lost.find,
    wake_up_lost.find,
    cleanup_interrupted.find,
    cancellation_spread.find,
    cancellation_swallowed.find,
    held_by_waiter.find,
    serialized_by_lock.find,
    loop_not_woken.find,
    loop_blocked.find,
    starved.find,
    endless_reschedule.find,
    closed_before_use.find,
    race.find,
    destroyed_pending.find,
    exception_not_taken.find,
)


def findings(facts: Facts) -> list[Finding]:
    """Return what all diagnoses find in a run, where execution was followed; the result is cached with the graph.

    For a large run that is finished, it is also cached in its store.
    """
    graph = facts.graph
    known = graph.answers.get("findings")
    if known is None:
        is_kept = graph.info.finished is not None and len(graph) >= WORTH_KEEPING
        tables = graph.tables if is_kept and isinstance(graph, StoredGraph) else None
        known = load(tables, facts.last_ns) if tables else None
        if known is None:
            known = _find(facts)
            if tables:
                save(tables, facts.last_ns, known)
        graph.answers["findings"] = known
    result: list[Finding] = known
    return result


def _find(facts: Facts) -> list[Finding]:
    found = [finding for find in DIAGNOSES for finding in find(facts)]
    if unfollowed(facts.graph):
        found = [finding for finding in found if all(unfollowed_at(facts.graph, row) is None for row in finding.events)]
    return found
