"""Writes a run of any size as a recording would have left it: trace files of the format's own definitions, made by numpy.

Threads of some processes work on messages: each receives one that another sent, calls, logs, reads and writes a state, and
sends its own. 2.2 events come on an edge. Invariant: a run of the same numbers is the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from clew.records.format import header as h
from clew.records.format.event import Kind, pack_extension, pack_word
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, finish_run, save_run

START = 1_000_000_000
STEP = 100
"""Nanoseconds between two records of a thread."""
_SITES = 40
_STATES = 64
_TEXTS = (b"chunk stored on three servers", b"retrying after a timeout of 0.5 s", b"request done")

# What a thread does with one message: kinds, and the bytes of text that come with each. -1: no extension.
_MESSAGE = (
    (Kind.RECEIVE, 0), (Kind.ENTER, -1), (Kind.ENTER, -1), (Kind.USE, 0), (Kind.EXIT, -1), (Kind.LOG, 40),
    (Kind.ENTER, -1), (Kind.DEFINE, 0), (Kind.USE, 0), (Kind.EXIT, -1), (Kind.JOIN, 0), (Kind.SEND, 0), (Kind.EXIT, -1),
)  # fmt: skip
EVENTS_PER_MESSAGE = len(_MESSAGE)
_SITE_OF = (0, 1, 2, 0, 2, 5, 3, 0, 0, 3, 0, 0, 1)


def write_run(workspace: Path, events: int, processes: int = 4, threads: int = 4, seed: int = 1) -> Path:
    """The run's folder; it has some `events` events."""
    rng = np.random.default_rng(seed)
    folder, info = create_run(
        workspace, name="generated", command=["python", "app.py"], spec="", plan=dump(Plan()), cwd=workspace
    )
    save_run(folder, info)
    messages = max(events // (EVENTS_PER_MESSAGE * processes * threads), 2)
    for process in range(processes):
        chunks = [_definitions(threads)]
        for thread in range(threads):
            lane = process * threads + thread
            chunks += _thread(rng, lane, thread + 1, messages=messages, lanes=processes * threads)
        pid, uid = 100 + process, 7919 * (process + 1)
        page = bytearray(h.HEADER_SIZE)
        end = START + (messages + 1) * EVENTS_PER_MESSAGE * STEP
        h.HEADER.pack_into(
            page, 0, h.MAGIC, h.VERSION, h.HEADER_SIZE, h.CHUNK_SIZE, pid, 1, h.Clock.MONOTONIC, h.State.CLOSED, 0, 0,
            START, START, info.started + process, end, end, sum(len(chunk) // h.CHUNK_SIZE for chunk in chunks), 0, uid, 0,
        )  # fmt: skip
        about = json.dumps({"host": "host", "boot_id": "boot", "argv": ["python", f"app{process}.py"]}).encode()
        page[h.INFO_OFFSET : h.INFO_OFFSET + 4] = len(about).to_bytes(4, "little")
        page[h.INFO_OFFSET + 4 : h.INFO_OFFSET + 4 + len(about)] = about
        with (folder / f"{pid}-{uid:016x}.clew").open("wb") as file:
            file.write(page)
            for chunk in chunks:
                file.write(chunk)
    finish_run(folder, info, 0, [])
    return folder


def _head(kind: h.ChunkKind, serial: int, number: int) -> bytes:
    head = h.CHUNK_HEADER.pack(h.CHUNK_MAGIC, kind, 0, 100 + serial, serial, number, START, START)
    return head.ljust(h.CHUNK_HEADER_SIZE, b"\0")


def _definitions(threads: int) -> bytes:
    texts = [
        (Kind.THREAD, serial, json.dumps({"name": f"worker-{serial}", "native_id": serial, "daemon": False}))
        for serial in range(1, threads + 1)
    ]
    for number in range(1, _SITES + 1):
        site = {
            "id": number, "module": f"app.part{number % 5}", "qualname": f"work{number}", "file": "/src/app.py",
            "line": number, "end_line": number, "kind": "function", "rule": -1,
        }  # fmt: skip
        texts.append((Kind.SITE, number, json.dumps(site)))
    texts += [(Kind.STRING, number, text) for number, text in enumerate(("queue", "state", "app"), 1)]
    data = b""
    for kind, key, text in texts:
        extension = pack_extension(key, 0, text.encode())
        data += START.to_bytes(8, "little") + pack_word(kind, 0, len(extension) // 16).to_bytes(8, "little") + extension
    return (_head(h.ChunkKind.DEFINITIONS, 0, 0) + data).ljust(h.CHUNK_SIZE, b"\0")


def _thread(rng: np.random.Generator, lane: int, serial: int, *, messages: int, lanes: int) -> list[bytes]:
    template, place = _template()
    per_chunk = (h.CHUNK_SIZE - h.CHUNK_HEADER_SIZE) // template.nbytes
    found = []
    for number, first in enumerate(range(0, messages, per_chunk)):
        count = min(per_chunk, messages - first)
        units = np.broadcast_to(template, (count, *template.shape)).copy()
        message = np.arange(first, first + count)
        since = (
            START + lane + message[:, None] * (EVENTS_PER_MESSAGE * STEP) + np.arange(1, EVENTS_PER_MESSAGE + 1) * STEP
        )
        units[:, place, 0] = since
        sites = (message * 7 + lane) % (_SITES - 5)
        for at, site in enumerate(_SITE_OF):
            if site:
                units[:, place[at], 1] |= (sites + site).astype(np.uint64) << np.uint64(32)
        for at, (kind, text) in enumerate(_MESSAGE):
            if kind in (Kind.RECEIVE, Kind.JOIN):
                before = np.maximum(message - 1 - rng.integers(0, 20, count), 0)
                units[:, place[at] + 1, 1] = _key(before * lanes + rng.integers(0, lanes, count))
            elif kind == Kind.SEND:
                units[:, place[at] + 1, 1] = _key(message * lanes + lane)
            elif kind in (Kind.DEFINE, Kind.USE):
                units[:, place[at] + 1, 1] = _key(rng.integers(1 << 40, (1 << 40) + _STATES, count))
            elif text > 0:
                units[:, place[at] + 1, 1] = 20
        data = units.tobytes()
        found.append((_head(h.ChunkKind.EVENTS, serial, number) + data).ljust(h.CHUNK_SIZE, b"\0"))
    return found


def _template() -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """One message's records, with neither times, sites nor keys, and in which unit each begins."""
    data, place = b"", []
    for number, (kind, text) in enumerate(_MESSAGE):
        place.append(len(data) // 16)
        extension = b""
        if text >= 0:
            channel = {Kind.USE: 2, Kind.DEFINE: 2, Kind.LOG: 3}.get(kind, 1)
            extension = pack_extension(0, channel, _TEXTS[number % len(_TEXTS)][:text])
        data += bytes(8) + pack_word(kind, 0, len(extension) // 16).to_bytes(8, "little") + extension
    return np.frombuffer(data, np.uint64).reshape(-1, 2), np.array(place, np.int64)


def _key(number: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
    """A hash, as the recorder's keys are; never 0."""
    mixed = (number.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(32)) | np.uint64(1)
