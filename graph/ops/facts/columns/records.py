"""The records of one kind of facts as columns, with texts that are read when they are needed.

Invariant: a field can be searched in a text, such as `"role":`: texts have no spaces around colons, and a quotation mark inside
a string is escaped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.facts.columns.views import I64, Mask, View
from clew.graph.runtime.arrow_arrays import from_numbers, from_texts, to_numbers
from clew.records.format.event import Kind
from clew.records.format.facts import Frame, load

Resource = tuple[int, int]
"""An object that strands wait for or hold: its process (an index) and its key there, or `SHARED` and its key everywhere."""
SHARED = -1
_OF_PROCESSES = "multiprocessing."
"""The prefix of the channels of objects that processes share."""
F = TypeVar("F")
Stacks = Callable[[], dict[tuple[int, int], tuple[Frame, ...]]]
"""Returns the frames of each numbered stack of a process."""


@dataclass(frozen=True)
class Fact(Generic[F]):
    """One recorded fact. `text` is a class of `clew.records.format.facts`."""

    row: int
    strand: int
    ns: int
    """The time of the row, in ns since the run's start."""
    process: int
    key: int
    channel: str
    text: F

    @property
    def resource(self) -> Resource:
        return SHARED if is_shared(self.channel) else self.process, self.key


def is_shared(channel: str) -> bool:
    """Return whether what a channel is about has the same key in several processes."""
    return channel.startswith(_OF_PROCESSES)


class Records(Generic[F]):
    """The records of a kind, in the order of rows."""

    def __init__(self, graph: ExecutionGraph, kind: Kind, text: type[F], stacks: Stacks = dict) -> None:
        self._graph, self._type, self._stacks = graph, text, stacks
        self.row = graph.rows_of([kind])
        self.strand = graph.strand[self.row].astype(np.int64)
        self.ns = graph.ts[self.row]
        self._ext = graph.ext[self.row].astype(np.int64)
        self._loaded: dict[tuple[int, int], F] = {}

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def process(self) -> I64:
        return self._graph.strand_process[self.strand].astype(np.int64)

    @cached_property
    def owner(self) -> I64:
        """The first part of each record's resource."""
        owner: I64 = np.where(self.channels(is_shared), SHARED, self.process)
        return owner

    def _extension(self, column: npt.NDArray[Any], missing: int) -> npt.NDArray[Any]:
        values = np.full(len(self), missing, np.int64 if missing < 0 else column.dtype)
        known = self._ext >= 0
        values[known] = column[self._ext[known]]
        return values

    @cached_property
    def key(self) -> npt.NDArray[np.uint64]:
        return self._extension(self._graph.extensions.key, 0)

    @cached_property
    def channel(self) -> I64:
        """The number of each channel among the graph's strings, -1 for none."""
        return self._extension(self._graph.extensions.channel, -1)

    def channels(self, test: Callable[[str], bool]) -> Mask:
        """Return for each record whether its channel passes a test."""
        return self.pass_test(self.channel, test)

    def pass_test(self, channels: I64, test: Callable[[str], bool]) -> Mask:
        """Return for each of some channels whether it passes a test."""
        numbers, inverse = np.unique(channels, return_inverse=True)
        passes = np.array([test(self._name(number)) for number in numbers.tolist()], bool)
        return passes[inverse] if len(numbers) else np.zeros(0, bool)

    def channel_names(self, places: I64) -> set[str]:
        """Return the different channels of some records."""
        return {self._name(number) for number in np.unique(self.channel[places]).tolist()}

    def _name(self, channel: int) -> str:
        return self._graph.strings[channel] if channel >= 0 else ""

    # ---- Texts ----

    @cached_property
    def _encoded(self) -> tuple[npt.NDArray[np.int32], pa.Array]:
        """The number of each record's text, and the different texts."""
        known = self._ext >= 0
        encoded = self._graph.extensions.texts.strings(self._ext[known]).dictionary_encode()
        numbers = np.full(len(self), len(encoded.dictionary), np.int32)
        numbers[known] = to_numbers(encoded.indices)
        return numbers, pa.concat_arrays([encoded.dictionary, from_texts(("",))])

    @property
    def text_number(self) -> npt.NDArray[np.int32]:
        """The number of each record's text; equal texts have the same one."""
        return self._encoded[0]

    def contains(self, pattern: str, *, regex: bool = False) -> Mask:
        """Return for each record whether its text contains a pattern."""
        numbers, texts = self._encoded
        found = pc.match_substring_regex(texts, pattern) if regex else pc.match_substring(texts, pattern)
        passes: Mask = to_numbers(found)[numbers]
        return passes

    def number(self, field: str) -> npt.NDArray[np.uint64]:
        """Return a field of each record's text that is a number, not negative; 0 where the text has no such field."""
        numbers, texts = self._encoded
        values = np.zeros(len(texts), np.uint64)
        has = np.flatnonzero(to_numbers(pc.match_substring(texts, f'"{field}":')))
        if len(has):
            found = pc.extract_regex(texts.take(from_numbers(has)), rf'"{field}":(?P<n>\d{{1,20}})\b').field("n")
            valid = to_numbers(pc.is_valid(found))
            try:
                values[has[valid]] = to_numbers(found.drop_null().cast(pa.uint64()))
            except pa.ArrowInvalid:  # a number is too large, and no reader of the text takes it for one
                numbers_ = [int(value) for value in found.drop_null().to_pylist()]
                values[has[valid]] = [value if value < 1 << 64 else 0 for value in numbers_]
        return values[numbers]

    def by_text(self, value: Callable[[F], int]) -> I64:
        """Return a value of each record's text. Every different text is read, so there should be few."""
        numbers, texts = self._encoded
        of: Any = self._type
        values = np.array([value(load(of, text)) for text in texts.to_pylist()], np.int64)
        found: I64 = values[numbers]
        return found

    def own_text(self, place: int) -> F:
        """Return the text of a record, without a stack that another record contains."""
        numbers, texts = self._encoded
        of: Any = self._type
        found: F = load(of, texts[int(numbers[place])].as_py())
        return found

    def text(self, place: int) -> F:
        """Return the text of a record. A stack that another record of its process contains is filled in."""
        where = int(self.process[place]), int(self.text_number[place])
        loaded: Any = self._loaded.get(where)
        if loaded is None:
            loaded = self.own_text(place)
            if getattr(loaded, "stack", 0) and not loaded.at:
                loaded = loaded._replace(at=self._stacks().get((where[0], loaded.stack), ()))
            self._loaded[where] = loaded
        found: F = loaded
        return found

    def fact(self, place: int) -> Fact[F]:
        """Return a record as an object."""
        return Fact(
            int(self.row[place]), int(self.strand[place]), int(self.ns[place]), int(self.process[place]),
            int(self.key[place]), self._name(int(self.channel[place])), self.text(place),
        )  # fmt: skip

    def all(self) -> View[Fact[F]]:
        return View(self.fact, np.arange(len(self)))
