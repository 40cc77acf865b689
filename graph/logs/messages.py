"""All log messages of a run as sorted hashes, so that those with the words of a line are found without reading any.

A message is the first line of a log's text. Its hash is of its template and, each in its place, of its parameters
(`clew.graph.texts`), so that texts are never put together. Invariant: equal messages have equal hashes, in any run.
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from clew.graph.logs.kept import WORTH_KEEPING, keep, kept
from clew.graph.logs.templates import Match, TemplateIndex
from clew.graph.stored import StoredGraph
from clew.graph.texts import SLOT, Templated
from clew.records.event import Kind

if TYPE_CHECKING:
    from clew.graph.model import ExecutionGraph

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
_KEPT = "log messages"
_making = threading.Lock()
"""Two requests at once must not make the same table twice."""
_WIDE = (1 << 64) - 1
_RADIX = 0x9E3779B97F4A7C15 | 1
_PLACE = 0xD6E8FEB86659FD93


@dataclass(frozen=True, eq=False)
class Messages:
    started: int
    """The run's start, wall-clock nanoseconds."""
    rows: I64
    """The log events, ascending."""
    ts: I64
    """When they were written, nanoseconds since the run's start."""
    site: npt.NDArray[np.uint32]
    """Where they were."""
    level: npt.NDArray[np.int32]
    by_time: npt.NDArray[np.int32]
    """Places in `rows` in the order of time."""
    by_hash: npt.NDArray[np.int32]
    """Places in `rows` by hash, of equal ones by time."""
    hashes: U64
    """The hashes in that order."""
    index: TemplateIndex
    beginnings: tuple[tuple[int, int], ...]
    """Per template of the index its hash, and how many parameters it has."""

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, match: Match) -> npt.NDArray[np.int32]:
        """Places in `rows` of the events with the message that a line has, by time."""
        value, slots = self.beginnings[match.template]
        for slot, parameter in enumerate(match.parameters[:slots]):
            value += _of_word(parameter.encode("utf-8", "surrogatepass")) * _of_place(slot)
        wanted = np.uint64(value & _WIDE)
        low, high = np.searchsorted(self.hashes, wanted, "left"), np.searchsorted(self.hashes, wanted, "right")
        return self.by_hash[low:high]

    def near(self, places: npt.NDArray[np.int32], first: int, last: int) -> npt.NDArray[np.int32]:
        """Of places by time those between two times since the run's start, both included."""
        # Two million equal messages are searched, not read.
        low = _bisect(self.ts, places, first)
        return places[low : _bisect(self.ts, places, last + 1)]

    @cached_property
    def span(self) -> tuple[int, int]:
        """Wall-clock nanoseconds of the first log and of the last."""
        started = self.started
        if not len(self.rows):
            return started, started
        return started + int(self.ts[self.by_time[0]]), started + int(self.ts[self.by_time[-1]])


def messages_of(graph: ExecutionGraph) -> Messages:
    """Kept with the graph, of a large one also in its store; the first time costs about as much as reading all texts."""
    found: Messages | None = graph.answers.get(_KEPT)
    if found is None:
        with _making:
            found = graph.answers.get(_KEPT) or _kept_or_made(graph)
        graph.answers[_KEPT] = found
    return found


def _kept_or_made(graph: ExecutionGraph) -> Messages:
    tables = graph.tables if isinstance(graph, StoredGraph) else None
    fields = kept(tables) if tables else None
    if fields is not None:
        return Messages(**fields)
    made = _messages(graph)
    if tables and len(made) >= WORTH_KEEPING:
        keep(tables, made)
    return made


def _messages(graph: ExecutionGraph) -> Messages:
    with graph.passing():
        rows = np.flatnonzero(graph.kind == Kind.LOG)
        ts = np.ascontiguousarray(graph.ts[rows])
        ext, site = graph.ext[rows].astype(np.int64), graph.site[rows]
    told = np.flatnonzero(ext >= 0)
    told = told[np.argsort(ext[told], kind="stable")]
    sorted_ext = ext[told]
    level = np.zeros(len(rows), np.int32)
    level[told] = graph.extensions.key[sorted_ext].astype(np.int32)
    hashes = np.zeros(len(rows), np.uint64)
    templates: dict[str, tuple[int, int]] = {}
    for first, part in graph.extensions.texts.parts():
        inside = slice(*np.searchsorted(sorted_ext, [first, first + len(part.template)]))
        if inside.start < inside.stop:
            hashes[told[inside]] = _hashes(part, sorted_ext[inside] - first, templates)
    by_time = np.argsort(ts, kind="stable").astype(np.int32)
    by_hash = by_time[np.argsort(hashes[by_time], kind="stable")]
    templates.pop("", None)
    index = TemplateIndex(list(templates))
    beginnings = tuple(templates.values())
    return Messages(graph.info.started, rows, ts, site, level, by_time, by_hash, hashes[by_hash], index, beginnings)


def _hashes(part: Templated, rows: I64, templates: dict[str, tuple[int, int]]) -> U64:
    """The hashes of some rows' messages; their templates are added to those that are known."""
    used = np.unique(part.template[rows])
    begin = np.zeros(len(part.templates), np.uint64)
    slots = np.zeros(len(part.templates), np.int64)
    for number in used.tolist():
        text = _first_line(part.templates[number])
        if text not in templates:
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            templates[text] = int.from_bytes(digest, "little"), text.count(SLOT)
        begin[number], slots[number] = templates[text]
    of = part.template[rows]
    hashes: U64 = begin[of]
    count, first = slots[of], part.first[rows]
    for slot in range(int(count.max(initial=0))):
        have = np.flatnonzero(count > slot)
        words = _of_words(part.parameters.take(pa.array(first[have] + slot)))
        hashes[have] += words * np.uint64(_of_place(slot))
    return hashes


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0].strip()


def _of_place(slot: int) -> int:
    return pow(_PLACE, slot + 1, 1 << 64)


def _of_word(word: bytes) -> int:
    """The hash of a parameter: its bytes, each times a power of an odd number."""
    value = 0
    for byte in reversed(word):
        value = (value * _RADIX + byte + 1) & _WIDE
    return value


def _of_words(words: pa.Array) -> U64:
    """The same of many."""
    start = np.frombuffer(words.buffers()[1], np.int64)[words.offset : words.offset + len(words) + 1]
    data = np.frombuffer(words.buffers()[2] or b"", np.uint8)
    length = np.diff(start)
    value = np.zeros(len(words), np.uint64)
    factor = np.uint64(1)
    radix = np.uint64(_RADIX)
    left = np.arange(len(words))
    for place in range(int(length.max(initial=0))):
        left = left[length[left] > place]
        value[left] += (data[start[left] + place].astype(np.uint64) + np.uint64(1)) * factor
        with np.errstate(over="ignore"):
            factor = factor * radix
    return value


def _bisect(ts: I64, places: npt.NDArray[np.int32], wanted: int) -> int:
    """How many of the places by time lie before a time."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        if ts[places[middle]] < wanted:
            low = middle + 1
        else:
            high = middle
    return low
