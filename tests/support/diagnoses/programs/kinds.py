"""The kinds of faults that real programs are made with, by the names of their pages in `docs/diagnoses`."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.support.diagnoses.programs import connections, locks, tasks, work
from tests.support.diagnoses.programs.noise import noise
from tests.support.diagnoses.programs.source import Source

KINDS: dict[str, Callable[[Source], None]] = {
    function.__name__.replace("_", "-"): function
    for function in (
        locks.wait_circle,
        locks.retaken_by_holder,
        locks.lock_held_at_fork,
        locks.holder_ended,
        locks.held_by_waiter,
        locks.serialized_by_lock,
        work.slot_leaked,
        work.executor_occupied,
        work.loop_blocked,
        work.endless_reschedule,
        work.starved,
        tasks.wake_up_lost,
        tasks.cancellation_swallowed,
        tasks.cancellation_misdirected,
        tasks.cancellation_spread,
        tasks.exception_never_taken,
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
