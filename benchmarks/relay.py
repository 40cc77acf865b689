"""How soon viewers are told what recorded programs do: ten processes, each at a set rate, through one relay to three viewers.

    python benchmarks/relay.py [--rate N] [--processes N] [--viewers N] [--seconds N] [--folder PATH]

The processes are one real recorded program, whose spec makes an event of each of its calls; viewers are processes of their own.
An event's time is the one that was recorded, its arrival when a viewer has its batch decoded and put to the state. Beside it
stands how late a thread that sleeps for 20 ms wakes up meanwhile, since a busy machine delays both. Every event is counted:
what the recording has in the end, what each viewer had in its first state (a relay looks for new runs twice a second, so that
some have happened before it lists a run), what it was told one by one after that, and what it missed. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from rows import row

from clew.graph.entities.events import Happening
from clew.graph.entities.source import entities_of
from clew.graph.store.store import open_graph
from clew.server.relay.launch import ensure_relay
from clew.server.relay.watcher import Events, Newest, Over, Runs, watch

ASKED_EVENTS, ASKED_MS = 100_000, 250
PROGRAM = """
import multiprocessing, os, sys, time
class Node:
    def __init__(self, name): self.name = name
    def send(self, other): pass
def work(number, rate, seconds):
    nodes = [Node(f"{number}.{place}") for place in range(100)]
    begun, done = time.monotonic(), 0
    while (passed := time.monotonic() - begun) < seconds:
        wanted = int(passed * rate)
        for item in range(done, wanted):
            nodes[item % 100].send(nodes[item * 7 % 100])
        done = wanted
        time.sleep(0.005)
if __name__ == "__main__":
    processes, rate, seconds = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    children = [multiprocessing.Process(target=work, args=(n, rate / processes, seconds)) for n in range(processes)]
    for child in children: child.start()
    for child in children: child.join()
"""
SPEC = """
entity Node is nodes:Node unique by this.name {
    when finish __init__(name) -> position(this);
    when start send(other) -> communication(this, other);
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=ASKED_EVENTS, help="events a second, of all processes")
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--viewers", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--view", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.view:
        print(json.dumps(view(given.view)))
        return
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        print(json.dumps(measured(Path(folder), given)))


def measured(workspace: Path, given: argparse.Namespace) -> dict[str, Any]:
    (workspace / "nodes.py").write_text(PROGRAM)
    (workspace / "nodes.esl").write_text(SPEC)
    relay = ensure_relay(workspace, grace=120)
    viewers = [
        subprocess.Popen([sys.executable, __file__, "--view", workspace], stdout=subprocess.PIPE, text=True)
        for _ in range(given.viewers)
    ]
    time.sleep(2)  # for the viewers to have loaded what they are made of
    words = [given.processes, given.rate, given.seconds]
    beside = Beside(relay.pid)
    program = subprocess.run(
        [sys.executable, "-m", "clew", "run", "--workspace", ".", "--spec", "nodes.esl", "--", sys.executable, "nodes.py",
         *map(str, words)],
        cwd=workspace, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if program.returncode:
        sys.exit(program.stderr)
    found = [json.loads(viewer.communicate()[0]) for viewer in viewers]
    beside.stop()
    os.kill(relay.pid, signal.SIGTERM)
    (folder,) = (workspace / ".clew" / "runs").iterdir()
    events, _ = entities_of(open_graph(folder)[0])
    talks = events.ns[events.kind == Happening.COMMUNICATION]
    lasted = float(talks[-1] - talks[0]) / 1e9
    late = {name: max(one["ms"][name] for one in found) for name in ("p50", "p95", "p99", "max")}
    sleeps, sleeper = beside.late(), "a thread that sleeps 20 ms, late"
    rate, missed = round(len(talks) / lasted), max(one["missed"] for one in found)
    events_row = row("events of all processes", "a second", rate, ASKED_EVENTS, peer="wanted", peer_value=given.rate)
    rows = [
        {**events_row, "met": rate >= 0.99 * ASKED_EVENTS},
        row("from event to viewer, 50 %", "ms", late["p50"], None, peer=sleeper, peer_value=sleeps["p50"]),
        row("from event to viewer, 99 %", "ms", late["p99"], ASKED_MS, peer=sleeper, peer_value=sleeps["p99"]),
        row("events that a viewer missed, at most", "events", missed, 0),
        row("the relay's share of a core", "ratio", beside.cpu / lasted, None, digits=3),
        row("the relay's memory, at most", "MB", beside.most_rss / 2**20, None),
    ]
    return {
        "benchmark": "relay",
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}",
        "processes": given.processes,
        "viewers": given.viewers,
        "events": len(events),
        **{name: [one[name] for one in found] for name in ("in_first_state", "told", "missed")},
        "whole": all(one["in_first_state"] + one["told"] + one["missed"] == len(events) for one in found),
        "ms": late,
        "load": round(os.getloadavg()[0], 1),
        "rows": rows,
    }


def view(workspace: Path) -> dict[str, Any]:
    """A viewer: how much it had at first, was told and missed, and how late it was told."""
    first, told, missed, started, late = -1, 0, 0, 0, []
    for news in watch(lambda: ensure_relay(workspace), again_for=60):
        if isinstance(news, Runs) and news.runs:
            started = news.runs[0].started
        elif isinstance(news, Newest):
            if first < 0:
                first = news.state.moment
            else:
                missed += news.state.moment - first - told - missed
        elif isinstance(news, Events):
            now = time.time_ns() - started
            told += len(news.batch)
            late.append(now - news.batch.columns["ns"])
        elif isinstance(news, Over):
            break
    every = np.concatenate(late) / 1e6
    points = {name: round(float(np.percentile(every, at)), 1) for name, at in (("p50", 50), ("p95", 95), ("p99", 99))}
    return {
        "in_first_state": first,
        "told": told,
        "missed": missed,
        "ms": points | {"max": round(float(every.max()), 1)},
    }


class Beside:
    """What a machine this busy does to anyone, and what the relay takes of it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._late: list[float] = []
        self._stopped = threading.Event()
        self.most_rss = 0
        self._first = self._cpu()
        self.cpu = 0.0
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()

    def late(self) -> dict[str, float]:
        return {name: round(float(np.percentile(self._late, at)), 1) for name, at in (("p50", 50), ("p99", 99))}

    def _look(self) -> None:
        while not self._stopped.is_set():
            began = time.perf_counter()
            time.sleep(0.02)
            self._late.append((time.perf_counter() - began - 0.02) * 1e3)
            try:
                self.cpu = self._cpu() - self._first
                pages = int(Path(f"/proc/{self._pid}/statm").read_text().split()[1])
                self.most_rss = max(self.most_rss, pages * os.sysconf("SC_PAGE_SIZE"))
            except OSError:
                pass  # it has ended

    def _cpu(self) -> float:
        fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
