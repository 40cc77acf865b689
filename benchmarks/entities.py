"""The state of 10 million events' entities at any moment, beside folding the events from the start, in one run.

    python benchmarks/entities.py [--events N] [--rounds N]

Each round goes to a random moment and finds what a screen shows of it, both ways in turn; the answers must be equal.
Times are the processor's. Asked for: 200 ms to any moment, with any number of entities, and a few seconds once. The last line
printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from rows import row

from clew.graph.entities.events import EntityEvents, Happening
from clew.graph.entities.fold import Fold, State
from clew.graph.entities.nesting import nesting
from clew.graph.entities.playback import lines

T = TypeVar("T")

ENTITIES = (1_000, 100_000, 1_000_000)
BOXES, LINES = 300, 1_000
SEEK_MS, ONCE_S, BYTES = 200.0, 5.0, 24.0
STEPS = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=10_000_000, help="(default: 10 million)")
    parser.add_argument("--rounds", type=int, default=40, help="moments that are sought (default: 40)")
    options = parser.parse_args()
    if options.events < 1 or options.rounds < 1:
        parser.error("give at least 1 event and 1 round")
    rows = [row for entities in ENTITIES for row in measure(options.events, entities, options.rounds)]
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"
    )
    print(json.dumps({"benchmark": "entities", "machine": machine, "rows": rows}))
    sys.exit(0 if all(row["met"] for row in rows) else 1)


def measure(events: int, entities: int, rounds: int) -> list[dict[str, Any]]:
    told = story(events, entities)
    once, fold = timed(lambda: (told.before, Fold(told))[1])
    kept = (fold.bytes + told.before.nbytes) / events
    times: dict[str, list[float]] = {"seek": [], "fold": [], "play": []}
    for moment in np.random.default_rng(7).integers(0, events + 1, rounds).tolist():
        ms, found = timed(lambda at=moment: shown(told, fold.at(at)))
        times["seek"].append(ms * 1e3)
        ms, expected = timed(lambda at=moment: shown(told, folded(told, at)))
        times["fold"].append(ms * 1e3)
        if found != expected:
            sys.exit(f"{entities:,} entities, moment {moment:,}: the states differ")
        ms, _ = timed(lambda at=moment: played(told, fold, max(0, at - 100_000), at))
        times["play"].append(ms * 1e3)
    state = fold.at(events // 2)
    steps = min(STEPS, events - state.moment)
    forth, _ = timed(lambda: [state.apply(told) for _ in range(steps)])
    back, _ = timed(lambda: [state.undo(told) for _ in range(steps)])
    if not state.equals(fold.at(events // 2)):
        sys.exit(f"{entities:,} entities: undoing does not lead back")
    whole, _ = timed(lambda: played(told, fold, 0, events))
    last = float(np.percentile(times["seek"], 99))
    ratio = statistics.median(mine / other for mine, other in zip(times["seek"], times["fold"], strict=True))
    print(
        f"{events:,} events of {entities:,} entities: once {once:.2f} s, {kept:.1f} bytes an event; to a moment "
        f"{statistics.median(times['seek']):.2f} ms, {last:.1f} at 99 %, {statistics.median(times['fold']):.0f} from the start "
        f"({ratio:.3f}); a step {forth / steps * 1e6:.2f} µs, back {back / steps * 1e6:.2f}; lines of 100,000 events "
        f"{statistics.median(times['play']):.1f} ms, of all {whole * 1e3:.0f}"
    )
    start = statistics.median(times["fold"])
    return [
        row(f"to a moment, {entities:,} entities, 99 %", "ms", last, SEEK_MS, peer="from the start", peer_value=start),
        row(f"made once, {entities:,} entities", "s", once, ONCE_S),
        row(f"kept, {entities:,} entities", "bytes an event", kept, BYTES),
    ]


def story(events: int, entities: int) -> EntityEvents:
    """A fifth moves, into one of some containers, a few of which are in others; a twentieth goes; the rest talks."""
    choose = np.random.default_rng(1)
    kind = choose.choice(np.array(Happening, np.uint8), events, p=[0.2, 0.05, 0.75])
    other = np.where(kind == Happening.POSITION, choose.integers(-1, max(1, entities // 50), events), -1)
    other = np.where(kind == Happening.COMMUNICATION, choose.integers(0, entities, events), other)
    first = choose.integers(0, entities, events)
    names = [""] * entities
    return EntityEvents(
        np.arange(events, dtype=np.int64), kind, first.astype(np.int32), other.astype(np.int32),
        np.arange(events, dtype=np.int64), np.zeros(events, np.uint32), names, names,
    )  # fmt: skip


def folded(told: EntityEvents, moment: int) -> State:
    state = State.empty(told.entities)
    state.advance(told, moment)
    return state


def shown(told: EntityEvents, state: State) -> list[list[int]]:
    found = nesting(told, state)
    chosen = found.chosen(BOXES)
    return [chosen.tolist(), *(column[chosen].tolist() for column in (found.container, found.holds, state.sent))]


def played(told: EntityEvents, fold: Fold, begin: int, end: int) -> int:
    found = nesting(told, fold.at(end))
    chosen = found.chosen(BOXES)
    return len(lines(told, begin, end, found.lifted(chosen), shown=len(chosen), most=LINES).count)


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds of the processor."""
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


if __name__ == "__main__":
    main()
