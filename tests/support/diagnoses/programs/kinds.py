"""The kinds of faults that real programs are made with, by the names of their pages in `docs/diagnoses`."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.support.diagnoses.programs import cancellations, connections, holders, locks, loops, lost, pools
from tests.support.diagnoses.programs.noise import noise
from tests.support.diagnoses.programs.source import Source

KINDS: dict[str, Callable[[Source], None]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        locks.wait_circle,
        holders.retaken_by_holder,
        holders.lock_held_at_fork,
        holders.holder_ended,
        locks.held_by_waiter,
        locks.serialized_by_lock,
        pools.slot_leaked,
        pools.item_not_returned,
        pools.executor_occupied,
        loops.loop_blocked,
        loops.loop_not_woken,
        loops.endless_reschedule,
        loops.starved,
        cancellations.wake_up_lost,
        cancellations.cancellation_swallowed,
        cancellations.cancellation_misdirected,
        cancellations.cancellation_spread,
        lost.exception_never_taken,
        lost.giver_lost,
        lost.destroyed_pending,
        connections.reply_of_another,
        connections.closed_before_use,
        connections.race,
    )
}


def real_program(kind: str, seed: int, fault: bool) -> tuple[Source, str]:
    """Return a program of a kind, with its fault or as a near miss, and its text."""
    source = Source(Random(f"{kind} {seed} {fault}"), fault)
    KINDS[kind](source)
    return source, source.text(noise)
