"""Ten minutes of threads, tasks, executors and forks that come and go, recorded: nothing grows, nothing leaks, nothing is lost.

The program counts its own calls in every process; the trace has to have precisely these. It runs beside its untraced self,
which is what its memory and its file handles are compared with. Collected runs are read as they are: packed, raw or both.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from clew.graph.build.decode_records import decode
from clew.records.format.event import RECORD_SIZE, Kind
from clew.records.format.header import CHUNK_SIZE, HEADER_SIZE
from clew.records.read.reader import read_process
from clew.records.run.directory import disk_bytes, list_runs, trace_files

EXAMPLES = """examples:
  python benchmarks/soak.py                ten minutes
  python benchmarks/soak.py --minutes 1    a quick look
"""

PROGRAM = """
import asyncio, collections, concurrent.futures, gc, json, os, queue, random, sys, threading, time

COUNTS = collections.Counter()
LOCK = threading.Lock()
CHANCE = random.Random(os.getpid())

def called(number):
    return number + 1

def counted(times):
    for number in range(times):
        called(number)
    with LOCK:
        COUNTS[os.getpid()] += times

def threads():
    jobs = queue.Queue()
    def work():
        while (times := jobs.get()) is not None:
            counted(times)
    every = [threading.Thread(target=work) for _ in range(CHANCE.randrange(2, 9))]
    for thread in every:
        thread.start()
    for _ in range(40):
        jobs.put(CHANCE.randrange(100))
    for _ in every:
        jobs.put(None)
    for thread in every:
        thread.join()

async def task(times):
    counted(times // 2)
    await asyncio.sleep(0)
    counted(times - times // 2)

async def tasks():
    async with asyncio.TaskGroup() as group:
        for _ in range(CHANCE.randrange(5, 40)):
            group.create_task(task(CHANCE.randrange(60)))
    await asyncio.to_thread(counted, 10)

def executors():
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(counted, [CHANCE.randrange(50) for _ in range(20)]))

def forks():
    for leave in (os._exit, sys.exit):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            COUNTS.clear()
            CHANCE.seed(os.getpid())
            threading.Thread(target=counted, args=(30,)).start()
            threads()
            counted(CHANCE.randrange(3000))
            while threading.active_count() > 1:
                time.sleep(0.001)
            os.write(write, b"%d" % COUNTS[os.getpid()])
            os._exit(0) if leave is os._exit else leave(0)
        os.close(write)
        with os.fdopen(read) as pipe:
            COUNTS[child] += int(pipe.read())
        os.waitpid(child, 0)

def size(path):
    try:
        return os.stat(path).st_blocks * 512
    except FileNotFoundError:  # the collector's own
        return 0

def state(folder):
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    memory = int(status["RssAnon"].split()[0]) / 1024
    # Pages of the trace that are mapped are the page cache's; they are counted, but not as the program's own.
    mapped = (int(status["RssFile"].split()[0]) + int(status["RssShmem"].split()[0])) / 1024
    files = sum(size(entry.path) for entry in os.scandir(folder)) if folder else 0
    return {
        "memory": memory, "mapped": mapped, "handles": len(os.listdir("/proc/self/fd")), "disk": files,
        "maps": sum(1 for _ in open("/proc/self/maps")), "calls": sum(COUNTS.values()),
    }

def main(seconds):
    folder = os.environ.get("CLEW_RUN")
    began = told = time.monotonic()
    while time.monotonic() - began < seconds:
        round_began = time.monotonic()
        threads()
        asyncio.run(tasks())
        executors()
        forks()
        if time.monotonic() - told > min(5, seconds / 20):
            told = time.monotonic()
            gc.collect()
            print(json.dumps({"at": told - began, **state(folder)}), flush=True)
        time.sleep(max(0, 0.25 - (time.monotonic() - round_began)))
    print(json.dumps({"counts": COUNTS}), flush=True)

if __name__ == "__main__":
    main(float(sys.argv[1]))
"""


class Told(NamedTuple):
    """What one of the two programs said of itself."""

    samples: list[dict[str, float]]
    counts: dict[int, int]


class Found(NamedTuple):
    """What the run's files hold."""

    counts: Counter[int]
    events: int
    processes: int
    problems: list[str]
    disk: int
    expected: int
    """Bytes of the trace files if nothing is packed: header pages, and the chunks that were claimed."""
    packed: bool


def start(command: list[str], folder: Path, seconds: float) -> subprocess.Popen[str]:
    program = [*command, sys.executable, "soak_program.py", str(seconds)]
    return subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, text=True)


def listen(traced: subprocess.Popen[str], plain: subprocess.Popen[str]) -> tuple[Told, Told]:
    """Both to their end; the traced one's progress is printed."""
    told = []
    for process, shown in ((traced, True), (plain, False)):
        samples: list[dict[str, float]] = []
        counts: dict[int, int] = {}
        for line in process.stdout or ():
            said = json.loads(line)
            if "counts" in said:
                counts = {int(pid): count for pid, count in said["counts"].items()}
                continue
            samples.append(said)
            if shown:
                print(
                    f"{said['at']:6.0f} s: {said['calls']:10,.0f} calls, memory {said['memory']:.1f} MB and "
                    f"{said['mapped']:.1f} MB mapped, {said['handles']:.0f} handles, {said['maps']:.0f} mappings, "
                    f"{said['disk'] / 1e6:.1f} MB on disk",
                    flush=True,
                )
        if process.wait() or not samples:
            raise SystemExit(f"the {'recorded' if shown else 'untraced'} program ended with {process.returncode}")
        told.append(Told(samples, counts))
    return told[0], told[1]


def slope(samples: list[dict[str, float]], field: str) -> float:
    """Per minute, after a fifth of the time for warming up; the median of all pairs' slopes, so that no single one counts."""
    kept = [sample for sample in samples if sample["at"] > samples[-1]["at"] / 5]
    slopes = [
        (later[field] - earlier[field]) / (later["at"] - earlier["at"]) * 60
        for place, earlier in enumerate(kept)
        for later in kept[place + 1 :]
    ]
    return statistics.median(slopes) if slopes else 0.0


def look(run: Path) -> Found:
    """Counts the calls of `called` in every process of the run."""
    counts: Counter[int] = Counter()
    events = processes = expected = 0
    packed, problems = False, []
    for path in trace_files(run):
        process = read_process(path)
        processes += 1
        problems += [f"{problem.where}: {problem.what}" for problem in process.problems]
        expected += HEADER_SIZE + process.header.chunks * CHUNK_SIZE
        packed = packed or any(path.parent.glob(path.stem + "*.clewz"))
        names = [site.id for site in process.sites.values() if site.qualname == "called"]
        for thread in process.threads.values():
            columns = decode(thread.extents)
            events += len(columns)
            entered = (columns.kind == Kind.ENTER) & np.isin(columns.site, names)
            counts[process.header.pid] += int(np.count_nonzero(entered))
    return Found(counts, events, processes, problems, disk_bytes(run), expected, packed)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="how long (default 10)")
    options = parser.parse_args()
    if options.minutes <= 0:
        parser.error("--minutes must be positive")
    if not Path("/proc/self/status").exists():
        parser.error("what is watched is read from /proc, which this machine does not have")
    clew = [sys.executable, "-m", "clew", "run", "--budget", "none", "--quota", "64GB", "--quiet", "--"]
    with tempfile.TemporaryDirectory(prefix="clew-soak-") as folder:
        workspace = Path(folder)
        (workspace / "soak_program.py").write_text(PROGRAM)
        traced, plain = start(clew, workspace, options.minutes * 60), start([], workspace, options.minutes * 60)
        ours, peer = listen(traced, plain)
        ((run, _),) = list_runs(workspace)
        found = look(run)

    wrong = {pid: (count, found.counts[pid]) for pid, count in ours.counts.items() if found.counts[pid] != count}
    for problem in found.problems[:10]:
        print(f"problem: {problem}")
    for pid, (was, seen) in list(wrong.items())[:10]:
        print(f"process {pid}: {was} calls, {seen} in the trace")
    handles = [max(sample["handles"] for sample in told.samples[-3:]) for told in (ours, peer)]
    growth, peer_growth = slope(ours.samples, "memory"), slope(peer.samples, "memory")
    calls = sum(ours.counts.values())
    shape = "packed" if found.packed else "not packed"
    print(
        f"{calls:,} calls and {found.events:,} events in {found.processes} processes; {found.disk / 1e6:.1f} MB on disk "
        f"({shape}), {found.disk / found.events:.2f} bytes an event; claimed were {found.expected / 1e6:.1f} MB"
    )
    # A round's own threads leave arenas of some tens of KB behind, now and then: what the untraced program does, too.
    allowed = round(max(peer_growth, 0.0) + 0.5, 2)
    rows = [
        {"name": "calls that are not in the trace, or not in the program", "unit": "calls",
         "ours": sum(abs(was - seen) for was, seen in wrong.values()), "peer": "the program's count",
         "peer_value": calls, "asked": 0, "met": not wrong and set(ours.counts) <= set(found.counts)},
        {"name": "problems in the run's files", "unit": "problems", "ours": len(found.problems), "peer": "",
         "peer_value": 0, "asked": 0, "met": not found.problems},
        {"name": "memory, growth after warm-up", "unit": "MB/min", "ours": round(growth, 3), "peer": "untraced",
         "peer_value": round(peer_growth, 3), "asked": allowed, "met": growth <= allowed},
        {"name": "mappings, growth after warm-up", "unit": "1/min", "ours": round(slope(ours.samples, "maps"), 2),
         "peer": "untraced", "peer_value": round(slope(peer.samples, "maps"), 2), "asked": 2.0,
         "met": slope(ours.samples, "maps") <= max(2.0, slope(peer.samples, "maps"))},
        {"name": "file handles at the end", "unit": "handles", "ours": handles[0], "peer": "untraced",
         "peer_value": handles[1], "asked": handles[1], "met": handles[0] <= handles[1]},
        {"name": "on disk, of what was claimed", "unit": "MB", "ours": round(found.disk / 1e6, 2), "peer": "claimed",
         "peer_value": round(found.expected / 1e6, 2), "asked": round(found.expected / 1e6, 2),
         "met": found.disk <= found.expected},
        {"name": f"on disk per event, {shape}", "unit": "bytes", "ours": round(found.disk / found.events, 2),
         "peer": "a record in memory", "peer_value": RECORD_SIZE, "asked": RECORD_SIZE if found.packed else None,
         "met": not found.packed or found.disk / found.events <= RECORD_SIZE},
    ]  # fmt: skip
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {sys.platform}"
    print(json.dumps({"benchmark": "soak", "machine": machine, "minutes": options.minutes, "rows": rows}))
    raise SystemExit(not all(row["met"] for row in rows))


if __name__ == "__main__":
    main()
