"""Every kind of fault that programs made as records have, behind one form."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from clew.graph.model.graph import ExecutionGraph
from tests.support.diagnoses import generator
from tests.support.diagnoses.made import Made
from tests.support.diagnoses.makers import (
    cancellation_spread,
    cancellation_swallowed,
    cleanup_interrupted,
    closed_before_use,
    endless_reschedule,
    exception_not_taken,
    item_not_returned,
    left_open,
    loop_not_woken,
    race,
    reply_of_another,
    starved,
    wake_up_lost,
)

Maker = Callable[[Random, bool], Made]
MAKERS: dict[str, tuple[Maker, ...]] = {
    "cancellation-swallowed": (cancellation_swallowed.make,),
    "cancellation-spread": (cancellation_spread.make,),
    "cancellation-misdirected": (cleanup_interrupted.make, left_open.make),
    "closed-before-use": (closed_before_use.make,),
    "endless-reschedule": (endless_reschedule.make,),
    "exception-never-taken": (exception_not_taken.make,),
    "item-not-returned": (item_not_returned.make,),
    "loop-not-woken": (loop_not_woken.make,),
    "race": (race.make,),
    "reply-of-another": (reply_of_another.make,),
    "starved": (starved.make,),
    "wake-up-lost": (wake_up_lost.make,),
}
MADE = sorted({*MAKERS, *generator.PLANTS})


@dataclass
class MadeProgram:
    """A made run, and the names that a finding about its fault must contain."""

    graph: ExecutionGraph
    folder: Path
    run: Path
    """The folder of the run, in `folder`."""
    names: tuple[str, ...]

    def named_by(self, text: str) -> bool:
        return bool(self.names) and all(name in text for name in self.names)


@contextmanager
def made_program(kind: str, seed: int, fault: bool) -> Iterator[MadeProgram]:
    """Make a program with a fault of a kind, or a near miss of it; delete its files afterwards."""
    random = Random(f"{kind} {seed} {fault}")
    if kind in MAKERS:
        one = random.choice(MAKERS[kind])(random, fault)
        made = MadeProgram(one.graph(), one.folder, one.run.folder, tuple(one.fault.split()))
    else:
        other = generator.program(random, kind if fault else None, near=kind)
        made = MadeProgram(
            other.graph(), other.run.folder.parent, other.run.folder, other.fault.names if other.fault else ()
        )
    try:
        yield made
    finally:
        shutil.rmtree(made.folder, ignore_errors=True)
