"""Measures logs: indexing a log of 100 MB beside `grep -c`, and finding the events that wrote its lines.

    python benchmarks/logs.py [--events 20000000] [--megabytes 100] [--lines 300] [--folder FOLDER]

The run is made (`store.py`): a quarter of its events are logs of 40 formats. The log has the lines of some of them as `logging`
writes them. Lines are found by their time, by whole seconds, and by their message alone; the bar is 50 ms for 95 of 100, by
the server's own finder, the line read from the file. Prints JSON lines.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from store import make_graph, timed

from clew.graph.logs.lines import LogFile
from clew.graph.logs.match_line import find_line
from clew.graph.logs.message_index import Messages, messages_of
from clew.graph.model.event import LEVEL_NAMES
from clew.graph.model.graph import ExecutionGraph
from clew.graph.store.store import fingerprint, open_graph, save
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, finish_run

ROUNDS, BAR_MS = 5, 50.0


def write(path: Path, graph: ExecutionGraph, messages: Messages, megabytes: int) -> np.ndarray[Any, Any]:
    """The log of the first events by row until it is large enough; the places in `messages` of its lines."""
    started, size, number = messages.started, 0, 0
    with path.open("w", encoding="utf-8") as file:
        for number in range(len(messages)):
            wall = started + int(messages.ts[number])
            stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(wall // 10**9))
            row = int(messages.rows[number])
            level = LEVEL_NAMES[int(messages.level[number])]
            size += file.write(f"{stamp},{wall // 10**6 % 1000:03} {level} {graph.channel(row)} {graph.text(row)}\n")
            if size >= megabytes * 1_000_000:
                break
    return np.arange(number + 1)


def index(path: Path) -> dict[str, Any]:
    """Medians of paired rounds, of processor time."""
    both = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(["grep", "-c", "ERROR", path], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        file, begin = LogFile(path), time.process_time()
        file.refresh()
        theirs = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        both.append((time.process_time() - begin, theirs))
    ours, theirs = (statistics.median(side) for side in zip(*both, strict=True))
    return {
        "name": "logs.index", "MB": round(path.stat().st_size / 1e6), "lines": len(file), "CPU s": round(ours, 3),
        "grep CPU s": round(theirs, 3), "ratio": round(ours / theirs, 1),
    }  # fmt: skip


def find(
    graph: ExecutionGraph, path: Path, places: np.ndarray[Any, Any], messages: Messages, lines: int
) -> dict[str, Any]:
    file = LogFile(path)
    file.refresh()
    chosen = random.Random(1).sample(places.tolist(), lines)
    forms = {
        "by time": lambda line: line,
        "by whole seconds": lambda line: line[:19] + line[23:],
        "by message": lambda line: line[24:],
    }
    found: dict[str, Any] = {}
    for name, form in forms.items():
        taken, hits = [], 0
        for place in chosen:
            seconds, answer = timed(lambda place=place, form=form: find_line(graph, form(file.line(place))))
            taken.append(seconds * 1e3)
            same = messages.rows[place] in [one.event for one in answer.events]
            hits += bool(same or answer.count > len(answer.events))
        quantiles = statistics.quantiles(taken, n=100)
        found[name] = {"p50 ms": round(quantiles[49], 2), "p95 ms": round(quantiles[94], 2), "found": hits / lines}
    bad = sum(bool(find_line(graph, f"2001-01-01{line[10:]}").events) for line in map(file.line, chosen))
    return {
        "name": "logs.find", "events": len(graph), "lines": lines, **found, "foreign lines found": bad, "bar ms": BAR_MS,
        "met": bad == 0 and all(one["p95 ms"] <= BAR_MS and one["found"] == 1 for one in found.values()),
    }  # fmt: skip


def measure(graph_of: partial[Any], folder: Path, given: argparse.Namespace) -> None:
    graph, _ = graph_of()
    first, messages = timed(lambda: messages_of(graph))
    graph, _ = graph_of()
    again, messages = timed(lambda: messages_of(graph))
    figures = {"messages": len(messages), "first s": round(first, 2), "kept s": round(again, 2)}
    print(json.dumps({"name": "logs.messages", **figures}), flush=True)
    path = folder / "made.log"
    places = write(path, graph, messages, given.megabytes)
    print(json.dumps(index(path)), flush=True)
    print(json.dumps(find(graph, path, places, messages, given.lines)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--events", type=float, default=20e6)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--lines", type=int, default=300)
    parser.add_argument("--folder", type=Path, help="where all is put; by default the system's temporary folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as place:
        folder, info = create_run(Path(place), name="made", command=[], spec="", plan=dump(Plan()), cwd=Path(place))
        finish_run(folder, info, 0, [])
        save(folder, make_graph(int(given.events)), [], fingerprint(folder))
        measure(partial(open_graph, folder), Path(place), given)


if __name__ == "__main__":
    main()
