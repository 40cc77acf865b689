"""Tell what a thread or task was doing at a time: its wait, or the innermost call that it was in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.ops.diagnoses import words
from clew.graph.ops.facts.facts import Facts


@dataclass(frozen=True)
class Doing:
    """What a strand was doing."""

    text: str
    """`had waited 2 s for dst.lock (transfer, bank.py:10)`, or `was in recount, stock.py:35`."""
    rows: tuple[int, ...]
    """The records that show it."""


def doing_at(facts: Facts, strand: int, ns: int, until_ns: int, call: int = -1) -> Doing | None:
    """Return what a strand was doing at a time, None if no record shows it.

    The duration of a wait counts up to `until_ns`. Pass as `call` a recorded call that the strand was in.
    """
    graph, waits = facts.graph, facts.waits_of.of(strand)
    wait = next(iter(waits.take(waits.covers(ns))), None)
    if wait is not None:
        lasted = min(wait.until_ns(facts.last_ns), until_ns) - wait.begin.ns
        return Doing(f"had {words.waited_for(facts, wait, lasted)}", wait.rows)
    own = graph.strands[strand]
    last = own.start + int(np.searchsorted(graph.ts[own.start : own.stop], ns, "right")) - 1
    inner = max(graph.owner_of(last) if last >= own.start else -1, call)
    return Doing(f"was in {words.site_place(graph.sites[graph.at('site', inner)])}", (inner,)) if inner >= 0 else None
