"""Trace files written byte by byte from the format's definitions, independently of the recorder."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from clew.graph.build import build
from clew.graph.model import Calls, ExecutionGraph, Extensions, Process, Regions, Site, Strand, Texts
from clew.records import header as h
from clew.records.event import Kind, pack_extension, pack_word
from clew.records.keys import key_of
from clew.records.plan import Plan, dump
from clew.records.run import RunInfo, create_run, finish_run, save_run

START = 1_000_000_000


class NotWanted(Exception):
    """Of work that somebody stopped."""


class SoonUnwanted:
    """Work that somebody stops as soon as they wait for it; `asked` counts the looks at whether it is wanted."""

    def __init__(self) -> None:
        self.gone = False
        self.asked = 0

    def check(self) -> None:
        self.asked += 1
        if self.gone:
            raise NotWanted

    @contextlib.contextmanager
    def when_unwanted(self, tell: Callable[[], None]) -> Iterator[None]:
        def stop() -> None:
            self.gone = True
            tell()

        stopping = threading.Timer(0.05, stop)
        stopping.start()
        yield
        stopping.join()


@dataclass
class Thread:
    """Writes one thread's records; every record is `step` ns after the one before unless `at` says when."""

    process: ProcessFile
    serial: int
    records: list[bytes] = field(default_factory=list)

    def put(
        self,
        kind: Kind,
        site: int = 0,
        key: int | None = None,
        channel: str = "",
        text: str = "",
        at: int | None = None,
        flags: int = 0,
    ):
        process = self.process
        process.clock.now = process.clock.now + process.clock.step if at is None else at
        ticks = START + process.clock.now
        extension = b""
        if key is not None or channel or text:
            extension = pack_extension(key or 0, process.string(channel), text.encode(), flags)
        self.records.append(
            ticks.to_bytes(8, "little") + pack_word(kind, site, len(extension) // 16).to_bytes(8, "little") + extension
        )
        return self

    def enter(self, function: str, **more):
        return self.put(Kind.ENTER, self.process.site(function), **more)

    def exit(self, function: str, **more):
        return self.put(Kind.EXIT, self.process.site(function), **more)

    def unwind(self, function: str, **more):
        return self.put(Kind.UNWIND, self.process.site(function), **more)

    def suspend(self, function: str, **more):
        return self.put(Kind.SUSPEND, self.process.site(function), **more)

    def resume(self, function: str, **more):
        return self.put(Kind.RESUME, self.process.site(function), **more)

    def send(self, value: object, channel: str = "message", **more):
        return self.put(Kind.SEND, key=key_of(channel, value), channel=channel, text=str(value), **more)

    def receive(self, value: object, channel: str = "message", **more):
        return self.put(Kind.RECEIVE, key=key_of(channel, value), channel=channel, text=str(value), **more)

    def join(self, value: object, channel: str = "message", **more):
        return self.put(Kind.JOIN, key=key_of(channel, value), channel=channel, text=str(value), **more)

    def define(self, value: object, channel: str = "chunk", **more):
        return self.put(Kind.DEFINE, key=key_of(channel, value), channel=channel, text=str(value), **more)

    def use(self, value: object, channel: str = "chunk", **more):
        return self.put(Kind.USE, key=key_of(channel, value), channel=channel, text=str(value), **more)

    def release(self, value: object, channel: str = "lock", **more):
        return self.put(Kind.RELEASE, key=key_of(channel, value), channel=channel, **more)

    def acquire(self, value: object, channel: str = "lock", **more):
        return self.put(Kind.ACQUIRE, key=key_of(channel, value), channel=channel, **more)

    def begin(self, value: object = None, channel: str = "asyncio.handle", **more):
        return self.put(Kind.SCOPE_BEGIN, key=0 if value is None else key_of(channel, value), channel=channel, **more)

    def end(self, **more):
        return self.put(Kind.SCOPE_END, **more)

    def request(self, name: str, **more):
        return self.put(Kind.REQUEST, channel=name, **more)

    def log(self, text: str, level: int = 20, logger: str = "app", function: str = "", line: int = 0, **more):
        site = self.process.site(function, kind="log", line=line) if function else 0
        return self.put(Kind.LOG, site, key=level, channel=logger, text=text, **more)

    def step(self, name: str, **more):
        """Begins a step of the task `name`."""
        return self.put(Kind.STEP_BEGIN, key=self.process.strand(name, self.serial), **more)

    def stop(self, name: str, **more):
        return self.put(Kind.STEP_END, key=self.process.strand(name, self.serial), **more)


@dataclass
class ClockNow:
    now: int = 0
    step: int = 10


@dataclass
class ProcessFile:
    """One process's trace file; its definitions are collected while its threads record."""

    pid: int
    clock: ClockNow
    argv: list[str]
    host: str = "host"
    boot_id: str = "boot"
    state: h.State = h.State.CLOSED
    started: int = 0
    threads: dict[int, Thread] = field(default_factory=dict)
    definitions: list[tuple[Kind, int, str]] = field(default_factory=list)
    counters: dict[str, int] = field(default_factory=dict)
    _sites: dict[tuple[str, str, int], int] = field(default_factory=dict)
    _strings: dict[str, int] = field(default_factory=lambda: {"": 0})
    _strands: dict[str, int] = field(default_factory=dict)

    def thread(self, name: str = "MainThread") -> Thread:
        serial = len(self.threads) + 1
        self.definitions.append(
            (Kind.THREAD, serial, json.dumps({"name": name, "native_id": 100 + serial, "daemon": False}))
        )
        thread = self.threads[serial] = Thread(self, serial)
        return thread

    def site(self, function: str, kind: str = "function", line: int = 0) -> int:
        """`module:qualname`, or a qualname in module "app". Numbers differ between processes on purpose."""
        known = self._sites.get((function, kind, line))
        if known is not None:
            return known
        number = self._sites[function, kind, line] = 7 + self.pid + len(self._sites)
        module, _, qualname = function.rpartition(":")
        module = module or "app"
        file = "/src/" + module.replace(".", "/") + ".py"
        text = {
            "id": number, "module": module, "qualname": qualname, "file": file, "line": line or 10 * len(self._sites),
            "end_line": line or 10 * len(self._sites) + 5, "kind": kind, "rule": -1,
        }  # fmt: skip
        self.definitions.append((Kind.SITE, number, json.dumps(text)))
        return number

    def string(self, text: str) -> int:
        if text not in self._strings:
            self._strings[text] = len(self._strings) + self.pid
            self.definitions.append((Kind.STRING, self._strings[text], text))
        return self._strings[text]

    def strand(self, name: str, serial: int) -> int:
        if name not in self._strands:
            self._strands[name] = 0x7000_0000_0000 + self.pid * 1000 + len(self._strands)
            text = json.dumps({"kind": "task", "name": name, "thread": serial})
            self.definitions.append((Kind.STRAND, self._strands[name], text))
        return self._strands[name]

    def to_bytes(self, wall_start: int) -> bytes:
        chunks = []
        definitions = []
        for kind, key, text in self.definitions:
            extension = pack_extension(key, 0, text.encode())
            word = pack_word(kind, 0, len(extension) // 16)
            definitions.append(START.to_bytes(8, "little") + word.to_bytes(8, "little") + extension)
        chunks += _chunks(h.ChunkKind.DEFINITIONS, 0, definitions)
        for thread in self.threads.values():
            chunks += _chunks(h.ChunkKind.EVENTS, thread.serial, thread.records)
        if self.counters:
            pairs = [
                self.site(function).to_bytes(8, "little") + count.to_bytes(8, "little")
                for function, count in self.counters.items()
            ]
            chunks += _chunks(h.ChunkKind.COUNTERS, 0, pairs)
        end = START + self.clock.now
        page = bytearray(h.HEADER_SIZE)
        h.HEADER.pack_into(
            page, 0, h.MAGIC, h.VERSION, h.HEADER_SIZE, h.CHUNK_SIZE, self.pid, 1, h.Clock.MONOTONIC, self.state, 0, 0,
            START, START, wall_start + self.started, end, end, len(chunks), 0, self.pid * 7919, 0,
        )  # fmt: skip
        info = json.dumps(
            {"host": self.host, "boot_id": self.boot_id, "executable": "/usr/bin/python", "argv": self.argv}
        )
        page[h.INFO_OFFSET : h.INFO_OFFSET + 4] = len(info).to_bytes(4, "little")
        page[h.INFO_OFFSET + 4 : h.INFO_OFFSET + 4 + len(info)] = info.encode()
        return bytes(page) + b"".join(chunks)


def _chunks(kind: h.ChunkKind, serial: int, records: list[bytes]) -> list[bytes]:
    chunks, data = [], b""
    for record in [*records, None]:
        if record is None or len(data) + len(record) > h.CHUNK_SIZE - h.CHUNK_HEADER_SIZE:
            head = h.CHUNK_HEADER.pack(h.CHUNK_MAGIC, kind, 0, 100 + serial, serial, len(chunks), START, START)
            chunks.append((head.ljust(h.CHUNK_HEADER_SIZE, b"\0") + data).ljust(h.CHUNK_SIZE, b"\0"))
            data = b""
        data += record or b""
    return chunks


@dataclass
class RunFolder:
    """A run in the making: add processes, let their threads record, then `graph()`."""

    folder: Path
    info: RunInfo
    clock: ClockNow = field(default_factory=ClockNow)
    processes: list[ProcessFile] = field(default_factory=list)

    def process(self, name: str = "server", **more) -> ProcessFile:
        number = len(self.processes)
        process = ProcessFile(100 * (number + 1), self.clock, ["python", f"/src/{name}.py"], started=number, **more)
        self.processes.append(process)
        return process

    def write(self) -> Path:
        for process in self.processes:
            path = self.folder / f"{process.pid}-{process.pid * 7919:016x}.clew"
            path.write_bytes(process.to_bytes(self.info.started))
        finish_run(self.folder, self.info, 0, [])
        return self.folder

    def graph(self) -> ExecutionGraph:
        return build(self.write())[0]


@pytest.fixture
def new_run(tmp_path: Path) -> Callable[..., RunFolder]:
    def make(name: str = "run", plan: Plan | None = None) -> RunFolder:
        folder, info = create_run(
            tmp_path, name=name, command=["python", "app.py"], spec="", plan=dump(plan or Plan()), cwd=tmp_path
        )
        save_run(folder, info)
        return RunFolder(folder, info)

    return make


@pytest.fixture
def run(new_run: Callable[..., RunFolder]) -> RunFolder:
    return new_run()


def bare_graph(regions_of_strands, edges, processes=None, kinds=None) -> ExecutionGraph:
    """A graph from the region of every event, strand by strand, and edges as pairs of events.

    `processes` gives the process of each strand. Times count events.
    """
    strand = np.repeat(np.arange(len(regions_of_strands)), [len(part) for part in regions_of_strands])
    region = np.array([number for part in regions_of_strands for number in part], np.uint32)
    events, count = len(region), int(region.max()) + 1 if len(region) else 0
    first, last, home = np.full(count, -1), np.full(count, -1), np.zeros(count)
    for row in range(events):
        number = region[row]
        first[number] = row if first[number] < 0 else first[number]
        last[number], home[number] = row, strand[row]
    processes = processes or [0] * len(regions_of_strands)
    pairs = np.array(sorted(edges, key=lambda edge: (region[edge[0]], edge)), np.int64).reshape(-1, 2)
    ends = np.cumsum([0] + [len(part) for part in regions_of_strands]).tolist()
    nothing = np.zeros(0, np.int64)
    return ExecutionGraph(
        info=RunInfo("run", "run", [], "/", "/", "", 0),
        ts=np.arange(events, dtype=np.int64),
        kind=np.array(kinds if kinds is not None else [Kind.MARK] * events, np.uint8),
        site=np.zeros(events, np.uint32),
        strand=strand.astype(np.uint32),
        region=region,
        ext=np.full(events, -1, np.int32),
        call=np.full(events, -1, np.int32),
        inner=np.full(events, -1, np.int32),
        idle=np.zeros(events, bool),
        edge_src=pairs[:, 0].copy(),
        edge_dst=pairs[:, 1].copy(),
        edge_kind=np.ones(len(pairs), np.uint8),
        edge_channel=np.zeros(len(pairs), np.uint32),
        extensions=Extensions(
            np.zeros(0, np.uint64),
            np.zeros(0, np.uint32),
            np.zeros(0, np.uint16),
            Texts(np.zeros(1, np.int64), np.zeros(0, np.uint8)),
        ),
        regions=Regions(
            home.astype(np.uint32),
            np.zeros(count, np.uint8),
            first.astype(np.int64),
            first.astype(np.int64),
            last.astype(np.int64),
            np.full(count, -1),
        ),  # fmt: skip
        calls=Calls(nothing, nothing, nothing, nothing, nothing, nothing),
        strings=[""],
        sites=[Site("", "", "", 0, 0, "")],
        strands=[
            Strand(number, process, number + 1, 0, "thread", f"t{number}", f"t{number}", ends[number], ends[number + 1])
            for number, process in enumerate(processes)
        ],
        processes=[
            Process(number, number, number, 0, 0, f"p{number}", (), "", "host", "", "closed", False, 0, 0, events)
            for number in range(max(processes, default=0) + 1)
        ],
    )


@pytest.fixture
def graph_of():
    return bare_graph


@st.composite
def random_graphs(draw):
    """Up to five strands with nested regions in up to three processes, and edges between any events."""
    sizes = draw(st.lists(st.integers(1, 14), min_size=1, max_size=5))
    region_count = 0
    strands = []
    for size in sizes:
        # Nested scopes: a stack of open regions, of which some event continues, opens or closes one.
        stack, part = [region_count], []
        region_count += 1
        for action in draw(st.lists(st.integers(0, 5), min_size=size, max_size=size)):
            if action == 0:
                stack.append(region_count)
                region_count += 1
            elif action == 1 and len(stack) > 1:
                stack.pop()
            part.append(stack[-1])
        strands.append(part)
    present = sorted({number for part in strands for number in part})
    renumber = {old: new for new, old in enumerate(present)}
    strands = [[renumber[number] for number in part] for part in strands]
    events = sum(sizes)
    edge = st.tuples(st.integers(0, events - 1), st.integers(0, events - 1))
    edges = draw(st.lists(edge, max_size=30))
    processes = draw(st.lists(st.integers(0, 2), min_size=len(sizes), max_size=len(sizes)))
    return bare_graph(strands, edges, processes)


@pytest.fixture
def graphs():
    return random_graphs()
