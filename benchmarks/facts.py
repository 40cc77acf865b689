"""Reading the facts of a run with many waits: columns first, objects for what failed. CPU time, and the memory that it takes.

The graph is made in memory: threads that wait for locks by turns, of which every thousandth wait fails, and exceptions with
different messages. The rows are the time for all waits, for the exceptions, and for the diagnoses of waits.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable

import numpy as np
from rows import row

from clew.graph.model.graph import Calls, ExecutionGraph, Extensions, Process, Regions, Site, Strand, Texts
from clew.graph.ops.diagnoses.resources import held_by_waiter, serialized_by_lock, wait_circle
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame, Wait, Wake, dump
from clew.records.run.directory import RunInfo

THREADS = 8
HELD_NS = 2_000


def made(waits: int, exceptions: int) -> ExecutionGraph:
    """Return a graph of threads with waits, each a WAIT and a WAKE, and exceptions at their ends."""
    at = (Frame("/src/app.py", 7, "work"),)
    each, raised = waits // THREADS, exceptions // THREADS
    begin, good, bad = (text.encode() for text in (dump(Wait(at=at, waiters=1)), dump(Wake()), dump(Wake("timeout"))))
    texts: list[bytes] = []
    for thread in range(THREADS):
        for number in range(each):
            texts += (begin, good if number % 1000 else bad)
        texts += (dump(Exception_(f"no item {thread}-{number}", at=at)).encode() for number in range(raised))
    rows = 2 * each + raised
    kinds = np.concatenate((np.tile([Kind.WAIT, Kind.WAKE], each), np.full(raised, Kind.EXCEPTION))).astype(np.uint8)
    count = rows * THREADS
    nothing, number = np.zeros(0, np.int64), np.arange(count)
    thread = np.repeat(np.arange(THREADS), rows).astype(np.uint32)
    strands = [
        Strand(index, 0, index + 1, 0, "thread", f"w{index}", f"w{index}", index * rows, (index + 1) * rows)
        for index in range(THREADS)
    ]
    process = Process(0, 1, 1, 0, 0, "app", ("python",), "python", "", "", "closed", False, 0, 0, rows * HELD_NS)
    key = np.where(np.tile(kinds, THREADS) == Kind.EXCEPTION, number, number // 2 % 64 + 1).astype(np.uint64)
    channel = (np.tile(kinds, THREADS) == Kind.EXCEPTION).astype(np.uint32)
    start = np.concatenate(([0], np.cumsum([len(text) for text in texts]))).astype(np.int64)
    return ExecutionGraph(
        info=RunInfo("run", "run", [], "/", "/", "", 0),
        ts=np.tile(np.arange(rows) * HELD_NS, THREADS).astype(np.int64),
        kind=np.tile(kinds, THREADS),
        site=np.zeros(count, np.uint32),
        strand=thread,
        region=thread,
        ext=number.astype(np.int32),
        call=np.full(count, -1, np.int32),
        inner=np.full(count, -1, np.int32),
        idle=np.zeros(count, bool),
        edge_src=nothing,
        edge_dst=nothing,
        edge_kind=np.zeros(0, np.uint8),
        edge_channel=np.zeros(0, np.uint32),
        extensions=Extensions(
            key, channel, np.zeros(count, np.uint16), Texts(start, np.frombuffer(b"".join(texts), np.uint8))
        ),
        regions=Regions(
            np.arange(THREADS, dtype=np.uint32),
            np.zeros(THREADS, np.uint8),
            np.full(THREADS, -1),
            np.arange(THREADS) * rows,
            np.arange(1, THREADS + 1) * rows - 1,
            np.full(THREADS, -1),
        ),
        calls=Calls(nothing, nothing, nothing, nothing, nothing, nothing),
        strings=["lock", "KeyError"],
        sites=[Site("", "", "", 0, 0, "")],
        strands=strands,
        processes=[process],
    )


def took(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--waits", type=int, default=1_000_000)
    parser.add_argument("--exceptions", type=int, default=100_000)
    given = parser.parse_args()
    facts = Facts.of(made(given.waits, given.exceptions))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    waits = took(lambda: facts.waits.ended("timeout"))
    exceptions = took(lambda: facts.exceptions.of_roles("ended"))
    finds = (wait_circle.find, held_by_waiter.find, serialized_by_lock.find)
    diagnoses = took(lambda: [find(facts) for find in finds])
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    scale = given.waits / 1_000_000
    rows = [
        row(f"read {given.waits:,} waits", "s", waits, 1.0 * scale),
        row(f"read {given.exceptions:,} exceptions", "s", exceptions, None),
        row("diagnoses of the waits", "s", diagnoses, None),
        row("memory for it", "MB", memory, None, digits=0),
    ]
    for each in rows:
        print(f"{each['name']}: {each['ours']} {each['unit']}")
    print(json.dumps({"benchmark": "facts", "rows": rows}))


if __name__ == "__main__":
    main()
