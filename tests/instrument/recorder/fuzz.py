"""Damage real traces, raw and compressed, and check that the reader neither crashes nor hangs on them.

`make fuzz` runs it for a long time; the tests of this folder run a share of it. An input that fails is saved, and its path is
printed. Invariant: the reader returns (events, problems), both bounded, for any bytes.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import struct
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from clew.instrument.recorder import _core
from clew.records.compress import block
from clew.records.format import event, header
from clew.records.format.event import Kind, SiteInfo
from clew.records.read.process_records import ProcessRecords
from clew.records.read.reader import MAX_PROBLEMS, parse_process

EXAMPLES = """examples:
  python tests/instrument/recorder/fuzz.py                   100,000 inputs
  python tests/instrument/recorder/fuzz.py --minutes 30      as many as there is time for
  python tests/instrument/recorder/fuzz.py --again FOLDER    one input that failed; its problems are printed
"""
ENDLESS_S = 60
"""A read that takes longer, even on a busy machine, counts as endless."""
STEP = 5000
"""The inputs between two looks at the clock."""
TELL_EVERY_S = 60
CHUNK, FIRST = header.CHUNK_SIZE, header.HEADER_SIZE


@dataclass(frozen=True)
class Trace:
    """A process's files: the bytes of the trace file and of the compressed file, which may be empty."""

    raw: bytes
    packed: bytes = b""

    def read(self) -> ProcessRecords:
        return parse_process(self.raw, "t.clew", [("t.clewz", self.packed)] if self.packed else [])


def _record(core, path: Path, *, stop: bool) -> bytes:
    core.start(str(path), b'{"boot_id": "b", "argv": ["x"]}', 3, 1 << 30, 0.0)
    probes = [
        core.Probe(site, kind) for site, kind in ((1, Kind.ENTER), (2, Kind.ENTER), (2, Kind.EXIT), (1, Kind.EXIT))
    ]

    def work(count: int) -> None:
        for number in range(count):
            for probe in probes:
                ~probe
            core.emit(Kind.SEND, 1, number, 1, b"x" * (number % 70))
            if number % 5 == 0:
                core.emit(Kind.STEP_BEGIN, 0, 9)
                core.emit(Kind.RECEIVE, 2, number, 1)
                core.emit(Kind.STEP_END, 0, 9)

    work(8)
    for place, name in enumerate(("queue", "naïve", "x" * 300), 1):
        core.define(Kind.STRING, place, name.encode())
    for place in (1, 2):
        site = SiteInfo(place, "m", f"f{place}", "/f.py", place, place + 3, "function")
        core.define(Kind.SITE, place, json.dumps(site._asdict()).encode())
    core.define(Kind.STRAND, 9, b'{"kind": "task", "name": "Task-1", "thread": 1}')
    core.define(Kind.NOTE, 0, b"a note")
    other = threading.Thread(target=work, args=(12,), name="other")
    other.start()
    other.join()
    data = path.read_bytes()
    if stop:
        core.stop()
        data = path.read_bytes()
    core.stop()
    return data


def _cut(data: bytes) -> bytes:
    """Cut the zeros at the end, as if the process had been killed before the rest was written."""
    return data.rstrip(b"\0")


def _small(data: bytes, chunk: int, keep: int) -> bytes:
    """Return the header page and the beginning of one chunk."""
    start = FIRST + chunk * CHUNK
    return data[:FIRST] + data[start : start + keep]


def _packed(data: bytes) -> Trace:
    """Compress as the collector does for an ended process: a header page, and a block for every chunk."""
    page = bytearray(data[:FIRST])
    flags = struct.unpack_from("<H", page, 26)[0] | header.FLAG_PACKED
    struct.pack_into("<H", page, 26, flags)
    blocks = [block.compress(data[start : start + CHUNK]) for start in range(FIRST, len(data), CHUNK)]
    return Trace(bytes(page), b"".join(blocks))


def traces() -> list[Trace]:
    """Return the traces to damage: large and small, raw and compressed. Only times differ between calls."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        closed = _record(_core, Path(folder) / "1.clew", stop=True)
        killed = _record(_core, Path(folder) / "2.clew", stop=False)
        found += [
            Trace(closed),  # the only one without problems before it is damaged
            Trace(_cut(closed)),
            Trace(_small(closed, 0, 3000)),
            Trace(_small(closed, 1, 2000)),
            _packed(closed),
            Trace(_small(killed, 2, 2500)),
            _half_packed(closed),
        ]
    return found


def _half_packed(data: bytes) -> Trace:
    """Compress some chunks without removing them, as a killed collector does."""
    return Trace(_cut(data), b"".join(block.compress(data[start : start + CHUNK]) for start in (FIRST, FIRST + CHUNK)))


def damaged(whole: Trace, chance: random.Random) -> Trace:
    if whole.packed and chance.random() < 0.8:
        packed = _damage(whole.packed, chance)
        if chance.random() < 0.7:
            packed = _with_checksums(packed)
        return Trace(whole.raw if chance.random() < 0.8 else _damage(whole.raw, chance), packed)
    return Trace(_damage(whole.raw, chance), whole.packed)


def _damage(whole: bytes, chance: random.Random) -> bytes:
    data = bytearray(whole)
    for _ in range(chance.choice((1, 1, 1, 2, 4, 30))):
        if not data:
            break
        _once(data, chance)
    return bytes(data)


def _once(data: bytearray, chance: random.Random) -> None:
    size = len(data)
    at = _place(size, chance)
    match chance.randrange(12):
        case 0 | 1 | 2:
            data[at] ^= 1 << chance.randrange(8)
        case 3 | 4:
            data[at] = chance.choice((0, 1, 2, 64, 127, 128, 254, 255))
        case 5:
            value = chance.choice((0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, chance.getrandbits(64)))
            data[at : at + 8] = value.to_bytes(8, "little")[: size - at]
        case 6:
            del data[at:]
        case 7:  # a copy of a part inserted there
            start, length = chance.randrange(size), chance.choice((1, 8, 16, 64, 400))
            data[at:at] = data[start : start + length]
        case 8:  # a part replaced by another
            start, length = chance.randrange(size), chance.choice((8, 16, 64, 400))
            piece = data[start : start + length]
            data[at : at + len(piece)] = piece
        case 9:
            del data[at : at + chance.choice((1, 8, 16, 64, 4096))]
        case 10:
            length = chance.choice((16, 64, 1000, CHUNK))
            data[at : at + length] = bytes(min(length, size - at))
        case 11:
            _chunks(data, chance)


def _place(size: int, chance: random.Random) -> int:
    """Choose a place, mostly among the headers and the bytes after them."""
    page = chance.choice((0, *range(FIRST, max(size, FIRST + 1), CHUNK)))
    at = page + chance.randrange(chance.choice((64, 130, 300, 3000)))
    return at if at < size else chance.randrange(size)


def _chunks(data: bytearray, chance: random.Random) -> None:
    """Duplicate, swap, clear or drop whole chunks."""
    starts = list(range(FIRST, len(data), CHUNK))
    if not starts:
        return
    one, two = chance.choice(starts), chance.choice(starts)
    first, second = bytes(data[one : one + CHUNK]), bytes(data[two : two + CHUNK])
    match chance.randrange(4):
        case 0:
            data += bytes(-(len(data) - FIRST) % CHUNK) + first
        case 1:
            data[one : one + CHUNK] = second
        case 2:
            data[one : one + CHUNK] = bytes(len(first))
        case 3:
            del data[one : one + CHUNK]


def _with_checksums(data: bytes) -> bytes:
    """Correct the checksums, so that the reader reads the guarded data."""
    result, at = bytearray(data), data.find(block.MAGIC)
    while at >= 0:
        start = at + block.HEAD.size
        if start <= len(data):
            size = struct.unpack_from("<I", data, at + 16)[0]
            crc = zlib.crc32(data[start : start + size], zlib.crc32(data[at : start - 4]))
            struct.pack_into("<I", result, start - 4, crc)
        at = data.find(block.MAGIC, at + 1)
    return bytes(result)


def check(trace: Trace) -> ProcessRecords:
    """Read it and assert the invariants that hold for any bytes."""
    found = trace.read()
    assert len(found.problems) <= MAX_PROBLEMS + 1
    assert all(problem.what and problem.where for problem in found.problems)
    most = (len(trace.raw) + trace.packed.count(block.MAGIC) * block.MAX_CHUNK) // event.RECORD_SIZE
    assert found.bytes // event.RECORD_SIZE <= most
    for extent in (extent for thread in found.threads.values() for extent in thread.extents):
        assert len(extent) % event.RECORD_SIZE == 0
    for number, one in enumerate(found.events()):
        assert one.ticks and one.kind < Kind.SITE
        assert number < most
    assert all(0 < ticks < 1 << 64 and 0 < ns < 1 << 62 for ticks, ns in found.pairs)
    assert found.readable or found.problems
    return found


class Endless(AssertionError):
    """Reading an input exceeded its time limit."""


def _alarm(number: int, frame: object) -> None:
    raise Endless


def fuzz(seeds: Iterable[int], only: str = "") -> Counter[str]:
    """Check one input for every seed, `only` of "raw" or "packed" traces. Return counts of the results."""
    chosen = [trace for trace in traces() if not only or bool(trace.packed) == (only == "packed")]
    told = Counter({"inputs": 0, "readable": 0, "with problems": 0, "events": 0})
    before = signal.signal(signal.SIGALRM, _alarm)
    try:
        for seed in seeds:
            chance = random.Random(seed)
            trace = damaged(chance.choice(chosen), chance)
            signal.alarm(ENDLESS_S)
            try:
                found = check(trace)
            except Exception as error:
                error.add_note(f"the input is saved: python {__file__} --again {_keep(trace)}")
                raise
            told["inputs"] += 1
            told["readable"] += found.readable
            told["with problems"] += bool(found.problems)
            told["events"] += found.bytes // event.RECORD_SIZE
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return told


def _keep(trace: Trace) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="clew-fuzz-"))
    (folder / "t.clew").write_bytes(trace.raw)
    (folder / "t.clewz").write_bytes(trace.packed)
    return folder


def fuzz_for(start: int, *, inputs: int, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
    """Try inputs from the seed `start`: all that `seconds` allow, or `inputs`. Print totals each minute and at the end."""
    began = last = clock()
    total: Counter[str] = Counter()
    more = True
    while more:
        left = inputs - total["inputs"]
        begin = start + total["inputs"]
        total.update(fuzz(range(begin, begin + (STEP if seconds else min(STEP, left)))))
        now = clock()
        more = now - began < seconds if seconds else total["inputs"] < inputs
        if not more or now - last >= TELL_EVERY_S:
            print(f"{now - began:6.0f} s: {', '.join(f'{count} {what}' for what, count in total.items())}", flush=True)
            last = now


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inputs", type=int, default=100_000, help="how many (default 100,000)")
    parser.add_argument("--minutes", type=float, help="as many as there is time for")
    parser.add_argument("--start", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--again", type=Path, help="the folder of a saved input")
    options = parser.parse_args()
    if options.again:
        kept = Trace((options.again / "t.clew").read_bytes(), (options.again / "t.clewz").read_bytes())
        for problem in check(kept).problems:
            print(problem)
        return
    fuzz_for(options.start, inputs=options.inputs, seconds=options.minutes and options.minutes * 60)


if __name__ == "__main__":
    main()
