"""Index all log messages of a run as sorted hashes, so that a line's candidates are found without reading any text.

A message is the first line of a log's text. Its hash combines its template with its parameters in their places
(`clew.graph.model.text_templates`), so texts are never assembled. Invariant: equal messages have equal hashes, in any
run.
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

from clew.graph.logs.templates import Match, TemplateIndex
from clew.graph.model.text_templates import SLOT, Templated
from clew.graph.runtime.arrow_arrays import from_numbers
from clew.graph.store.lazy_graph import StoredGraph
from clew.graph.store.log_index_cache import WORTH_KEEPING, load, save
from clew.records.format.event import Kind

if TYPE_CHECKING:
    from clew.graph.model.graph import ExecutionGraph

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
_CACHE_KEY = "log messages"
_build_lock = threading.Lock()
"""Prevents two simultaneous requests from building the same table twice."""
_WIDE = (1 << 64) - 1
_RADIX = 0x9E3779B97F4A7C15 | 1
_PLACE = 0xD6E8FEB86659FD93


@dataclass(frozen=True, eq=False)
class Messages:
    """The index, as columns."""

    started: int
    """The run's start in wall-clock nanoseconds."""
    rows: I64
    """The log events of the run, ascending."""
    ts: I64
    """The times of the log events, in nanoseconds since the run's start."""
    site: npt.NDArray[np.uint32]
    """The sites of the log events."""
    level: npt.NDArray[np.int32]
    by_time: npt.NDArray[np.int32]
    """Indices into `rows`, sorted by time."""
    by_hash: npt.NDArray[np.int32]
    """Indices into `rows`, sorted by hash, then by time."""
    hashes: U64
    """The hashes in the order of `by_hash`."""
    index: TemplateIndex
    beginnings: tuple[tuple[int, int], ...]
    """For each template of the index, its hash and its number of parameters."""

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, match: Match) -> npt.NDArray[np.int32]:
        """Return the indices into `rows` of the events with the message of a match, sorted by time."""
        value, slots = self.beginnings[match.template]
        for slot, parameter in enumerate(match.parameters[:slots]):
            value += _of_word(parameter.encode("utf-8", "surrogatepass")) * _of_place(slot)
        hash_ = np.uint64(value & _WIDE)
        low, high = np.searchsorted(self.hashes, hash_, "left"), np.searchsorted(self.hashes, hash_, "right")
        return self.by_hash[low:high]

    def near(self, places: npt.NDArray[np.int32], first: int, last: int) -> npt.NDArray[np.int32]:
        """Return the indices, from some sorted by time, whose times since the run's start lie between `first` and
        `last`, inclusive.
        """
        # Bisection avoids reading all equal messages, which can be millions.
        low = _bisect(self.ts, places, first)
        return places[low : _bisect(self.ts, places, last + 1)]

    @cached_property
    def span(self) -> tuple[int, int]:
        """The wall-clock nanoseconds of the first and the last log."""
        started = self.started
        if not len(self.rows):
            return started, started
        return started + int(self.ts[self.by_time[0]]), started + int(self.ts[self.by_time[-1]])


def messages_of(graph: ExecutionGraph) -> Messages:
    """Return the message index of a graph.

    The index is cached with the graph, and for a large graph also in its store. Building it costs about as much as
    reading all texts.
    """
    found: Messages | None = graph.answers.get(_CACHE_KEY)
    if found is None:
        with _build_lock:
            found = graph.answers.get(_CACHE_KEY) or _load_or_build(graph)
        graph.answers[_CACHE_KEY] = found
    return found


def _load_or_build(graph: ExecutionGraph) -> Messages:
    tables = graph.tables if isinstance(graph, StoredGraph) else None
    fields = load(tables) if tables else None
    if fields is not None:
        return Messages(**fields)
    made = _messages(graph)
    if tables and len(made) >= WORTH_KEEPING:
        save(tables, made)
    return made


def _messages(graph: ExecutionGraph) -> Messages:
    with graph.passing():
        rows = np.flatnonzero(graph.kind == Kind.LOG)
        ts = np.ascontiguousarray(graph.ts[rows])
        ext, site = graph.ext[rows].astype(np.int64), graph.site[rows]
    with_level = np.flatnonzero(ext >= 0)
    with_level = with_level[np.argsort(ext[with_level], kind="stable")]
    sorted_ext = ext[with_level]
    level = np.zeros(len(rows), np.int32)
    level[with_level] = graph.extensions.key[sorted_ext].astype(np.int32)
    hashes = np.zeros(len(rows), np.uint64)
    templates: dict[str, tuple[int, int]] = {}
    for first, part in graph.extensions.texts.parts():
        inside = slice(*np.searchsorted(sorted_ext, [first, first + len(part.template)]))
        if inside.start < inside.stop:
            hashes[with_level[inside]] = _hashes(part, sorted_ext[inside] - first, templates)
    by_time = np.argsort(ts, kind="stable").astype(np.int32)
    by_hash = by_time[np.argsort(hashes[by_time], kind="stable")]
    templates.pop("", None)
    index = TemplateIndex(list(templates))
    beginnings = tuple(templates.values())
    return Messages(graph.info.started, rows, ts, site, level, by_time, by_hash, hashes[by_hash], index, beginnings)


def _hashes(part: Templated, rows: I64, templates: dict[str, tuple[int, int]]) -> U64:
    """Return the hashes of some rows' messages, and add their templates to `templates`."""
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
        words = _of_words(part.parameters.take(from_numbers(first[have] + slot)))
        hashes[have] += words * np.uint64(_of_place(slot))
    return hashes


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0].strip()


def _of_place(slot: int) -> int:
    return pow(_PLACE, slot + 1, 1 << 64)


def _of_word(word: bytes) -> int:
    """Return the hash of a parameter: the sum of its bytes, each times a power of an odd number."""
    value = 0
    for byte in reversed(word):
        value = (value * _RADIX + byte + 1) & _WIDE
    return value


def _of_words(words: pa.Array) -> U64:
    """Return the hashes of many parameters; see `_of_word`."""
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


def _bisect(ts: I64, places: npt.NDArray[np.int32], bound: int) -> int:
    """Return how many of the places, sorted by time, lie before a time."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        if ts[places[middle]] < bound:
            low = middle + 1
        else:
            high = middle
    return low
