"""Opening a run that goes on once more, after it has grown by a hundredth, beside building its graph anew, in one run.

    python benchmarks/growing.py [--size N] [--rounds N] [--folder PATH]

Three recordings, packed as the collector leaves them: one generated (`recorded.py`), a program of asyncio queues with many
steps, and a parser that makes many calls. The last line printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from synthetic.runs import write_run

from clew.graph.build.builder import build
from clew.graph.build.read_columns import read_columns
from clew.graph.store.incremental_cache import GROWING_FOLDER, Growing, growing
from clew.graph.store.store import open_graph
from clew.records.compress import block
from clew.records.compress.compressed_files import CompressedFiles, key_of
from clew.records.format import header as h
from clew.records.read.reader import read_run
from clew.records.run.directory import compressed_files, load_run, save_run, trace_files

ASKED = 0.2
SHARE = 100
"""One in so many chunks of each process is what the run has grown by."""

STEPS = """
import asyncio, sys

async def work(given, done):
    while (number := await given.get()) is not None:
        await handle(number, done)

async def handle(number, done):
    await asyncio.sleep(0)
    await done.put(number + 1)

async def main(rounds):
    given, done = asyncio.Queue(16), asyncio.Queue(16)
    workers = [asyncio.create_task(work(given, done)) for _ in range(8)]
    async def drain():
        for _ in range(rounds):
            await done.get()
    drained = asyncio.create_task(drain())
    for number in range(rounds):
        await given.put(number)
    for _ in workers:
        await given.put(None)
    await asyncio.gather(drained, *workers)

asyncio.run(main(int(sys.argv[1])))
"""

CALLS = """
import sys

class Parser:
    def __init__(self, text):
        self.text, self.at = text, 0

    def peek(self):
        return self.text[self.at : self.at + 1]

    def take(self):
        self.at += 1
        return self.text[self.at - 1]

    def value(self):
        return self.array() if self.peek() == "[" else self.number()

    def array(self):
        self.take()
        found = [self.value()]
        while self.take() != "]":
            found.append(self.value())
        return found

    def number(self):
        digits = ""
        while self.peek().isdigit():
            digits += self.take()
        return int(digits)

document = "[" + ",".join(f"[{n},{n * 7},[{n % 9},3]]" for n in range(50)) + "]"
for _ in range(int(sys.argv[1])):
    Parser(document).value()
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--size", type=float, default=1.0, help="how large the recordings are (default: 1, some millions)"
    )
    parser.add_argument("--rounds", type=int, default=7, help="of each side (default: 7)")
    parser.add_argument(
        "--folder", type=Path, help="where they are written and removed again (default: a temporary one)"
    )
    options = parser.parse_args()
    if options.size <= 0 or options.rounds < 1:
        parser.error("give a size above 0 and at least 1 round")
    place = Path(tempfile.mkdtemp(prefix="clew-growing-", dir=options.folder)).resolve()
    try:
        measure(place, options.size, options.rounds)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def measure(place: Path, size: float, rounds: int) -> None:
    runs: dict[str, Callable[[], Path]] = {
        "generated": lambda: write_run(place / "generated", round(2_000_000 * size)),
        "asyncio steps": lambda: recorded(place / "steps", STEPS, round(100_000 * size)),
        "calls": lambda: recorded(place / "calls", CALLS, round(600 * size)),
    }
    rows: list[dict[str, Any]] = []
    for name, make in runs.items():
        folder = make()
        begun, rest = unpacked(folder)
        lay_out(folder, begun)
        open_graph(folder)
        shutil.copytree(folder / GROWING_FOLDER, place / "kept")
        lay_out(folder, {file: chunks + rest[file] for file, chunks in begun.items()})
        times: dict[str, list[float]] = {"open": [], "build": [], "read on": [], "read anew": []}
        sides: dict[str, Callable[[], int]] = {
            "open": partial(opened, folder),
            "build": partial(built, folder),
            "read on": partial(read, folder, keep=True),
            "read anew": partial(read, folder, keep=False),
        }
        found = set()
        for _ in range(rounds):
            for side, run in sides.items():
                shutil.rmtree(folder / GROWING_FOLDER)
                shutil.copytree(place / "kept", folder / GROWING_FOLDER)
                began = time.process_time()
                found.add(run())
                times[side].append(time.process_time() - began)
        shutil.rmtree(place / "kept")
        if len(found) != 1:
            sys.exit(f"{name}: the events differ: {found}")
        (events,) = found
        for what, ours, peer in (("opened again", "open", "build"), ("read again", "read on", "read anew")):
            ratio = statistics.median(mine / other for mine, other in zip(times[ours], times[peer], strict=True))
            mine, other = (statistics.median(times[side]) * 1e9 / events for side in (ours, peer))
            print(f"{name}, {what}: {events:,} events, {mine:.0f} ns an event, {other:.0f} anew: {ratio:.2f}")
            rows.append(
                {
                    "name": f"{name}, {what}", "unit": "of doing it anew", "ours": round(ratio, 3),
                    "peer": "from nothing, ns/event", "peer_value": round(other), "asked": ASKED, "met": ratio <= ASKED,
                }
            )  # fmt: skip
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"
    )
    print(json.dumps({"benchmark": "growing", "machine": machine, "rows": rows}))


def recorded(place: Path, program: str, size: int) -> Path:
    place.mkdir()
    (place / "app.py").write_text(program)
    run = [sys.executable, "-m", "clew", "run", "-q", "--budget", "none", "--workspace", str(place), "--"]
    subprocess.run([*run, sys.executable, str(place / "app.py"), str(size)], cwd=place, check=True)
    return next(path.parent for path in place.glob(".clew/runs/*/run.json"))


Chunks = dict[Path, list[bytes]]


def unpacked(folder: Path) -> tuple[Chunks, Chunks]:
    """Every process's chunks: what it had recorded a little before its end, and the rest."""
    begun: Chunks = {}
    rest: Chunks = {}
    for trace in trace_files(folder):
        data = trace.read_bytes()[h.HEADER_SIZE :]
        chunks = [data[at : at + h.CHUNK_SIZE] for at in range(0, len(data), h.CHUNK_SIZE)]
        for path in compressed_files(trace):
            chunks += [
                found.decompress()
                for _, found in block.blocks(path.read_bytes())
                if found and found.kind == block.CHUNK
            ]
        events = [chunk for chunk in chunks if key_of(chunk[: h.CHUNK_HEADER_SIZE])[0] == h.ChunkKind.EVENTS]
        # As they were claimed, thread after thread in turn.
        events.sort(key=lambda chunk: (h.CHUNK_HEADER.unpack_from(chunk)[6], h.CHUNK_HEADER.unpack_from(chunk)[5]))
        last = max(len(events) // SHARE, 1)
        begun[trace] = [chunk for chunk in chunks if chunk not in events] + events[:-last]
        rest[trace] = events[-last:]
    return begun, rest


def lay_out(folder: Path, chunks_of: Chunks) -> None:
    """The run as it is while it goes on, with these chunks packed."""
    for trace, chunks in chunks_of.items():
        page = bytearray(trace.read_bytes()[: h.HEADER_SIZE])
        page[h.STATE_OFFSET] = h.State.RECORDING
        page[h.FLAGS_OFFSET] = 0
        page[h.CHUNKS_OFFSET : h.CHUNKS_OFFSET + 8] = bytes(8)
        trace.write_bytes(page)
        for path in compressed_files(trace):
            path.unlink()
        files = CompressedFiles(trace)
        for chunk in chunks:
            files.append(chunk)
    save_run(folder, load_run(folder)._replace(finished=None, launcher=os.getpid()))


def opened(folder: Path) -> int:
    """How many events it has, likewise below."""
    return len(open_graph(folder)[0])


def built(folder: Path) -> int:
    return len(build(folder)[0])


def read(folder: Path, *, keep: bool) -> int:
    """The columns alone."""
    with growing(folder, write=False) if keep else nullcontext(Growing(None)) as kept:
        records = read_run(folder, kept.known if keep else None)
        reads = read_columns(records.processes, lambda _: None, kept.threads, watched=False)
    return sum(thread.records for process in reads for thread in process.threads.values())


if __name__ == "__main__":
    main()
