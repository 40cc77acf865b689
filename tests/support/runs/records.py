"""Trace files written byte by byte from the definitions of the format, independently of the recorder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clew.graph.build.builder import build
from clew.graph.model.graph import ExecutionGraph
from clew.records.format import header as h
from clew.records.format.event import Kind, pack_extension, pack_word
from clew.records.format.facts import dump
from clew.records.format.keys import key_of
from clew.records.run.directory import RunInfo, finish_run

START = 1_000_000_000


@dataclass
class Thread:
    """Writes the records of a thread; each record is `step` ns after the previous record unless `at` gives its time."""

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

    def fact(self, kind: Kind, key: int = 0, channel: str = "", text: Any = None, **more):
        """Write a fact; `text` is an object of `clew.records.format.facts`."""
        return self.put(kind, key=key, channel=channel, text=dump(text) if text is not None else "", **more)

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
        """Begin a step of the task `name`."""
        return self.put(Kind.STEP_BEGIN, key=self.process.strand(name, self.serial), **more)

    def stop(self, name: str, **more):
        return self.put(Kind.STEP_END, key=self.process.strand(name, self.serial), **more)


@dataclass
class ClockNow:
    now: int = 0
    step: int = 10


@dataclass
class ProcessFile:
    """The trace file of a process; its definitions are collected while its threads record."""

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
        """Return the number of the site `module:qualname`, or of a qualname in "app"; it differs between processes."""
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
    """A run to fill: add processes, let their threads record, then call `graph()`."""

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
