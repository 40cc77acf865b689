"""Collect the output of readers of foreign formats: spans, points in time, and edges between them, as growing columns.

References are not resolved here: a span names its parent by id, and a log names its span, in any order. Invariant: an invalid
value is replaced and counted in `odd`; it never stops the reading.
"""

from __future__ import annotations

import hashlib
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from clew.graph.formats.source import as_text, to_json
from clew.graph.model.graph import Site
from clew.records.errors import Problem
from clew.records.format.event import EdgeKind, Kind

MISSING = -(1 << 63)
"""A time that is missing in the file."""
EARLIEST, LATEST = -(1 << 61), 1 << 62
"""Bounds of times in nanoseconds since 1970, the years 1897 to 2116. Differences of times within them fit in 64 bits."""
MAX_TEXT = 1 << 16
MOST_KINDS = 50
"""The number of kinds of oddities after which unknown fields are no longer counted by name."""

# Flags of spans.
PSEUDO = 1
"""The span represents a thread or host; it has no call and no bounds."""
ASYNC = 2
"""Its parent does not wait for it."""
FAILED = 4
CLIENT, SERVER, PRODUCER, CONSUMER = 8, 16, 32, 64
EXPLICIT = 128
"""The file contains all of its edges, so no edges are inferred from its parent."""

Place = tuple[str, str, str, int]
"""Module, name, file, line."""

_HEX = re.compile(r"[0-9a-fA-F]+")
ATTRIBUTES = "attributes"
"""The channel of the payload with the attributes of a span or log as JSON."""


@dataclass(frozen=True)
class ProcessInfo:
    """The identity of a process."""

    service: str
    host: str
    instance: str
    pid: int


class Texts:
    """Concatenated texts; -1 is the number of the empty text."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.start = array("q", [0])

    def add(self, text: str) -> int:
        if not text:
            return -1
        data = text.encode("utf-8", "replace")
        self.data += data if len(data) <= MAX_TEXT else data[:MAX_TEXT]
        self.start.append(len(self.data))
        return len(self.start) - 2

    def add_json(self, value: object) -> int:
        return self.add(to_json(value))

    def get(self, number: int) -> str:
        return self.data[self.start[number] : self.start[number + 1]].decode("utf-8", "replace")


class Table:
    """Columns of one kind of row, given by the type codes of `array`."""

    def __init__(self, **codes: str) -> None:
        self.columns = {name: array(code) for name, code in codes.items()}
        self._append = [column.append for column in self.columns.values()]
        self._first = next(iter(self.columns.values()))

    def add(self, *values: int) -> int:
        for append, value in zip(self._append, values, strict=True):
            append(value)
        return len(self._first) - 1

    def __len__(self) -> int:
        return len(self._first)


class Collector:
    """The rows and the name tables of an import."""

    def __init__(self) -> None:
        self.strings: dict[str, int] = {"": 0}
        self.sites: list[Site] = [Site("", "", "", 0, 0, "")]
        self._site_ids: dict[tuple[str, str, str, int, str], int] = {}
        self.processes: dict[ProcessInfo, int] = {}
        self.files: list[str] = []
        """The first file that mentions each process."""
        self.threads: dict[tuple[int, str], int] = {}
        """The number of each (process, name), from 1; 0 means unknown."""
        self.traces: dict[str, int] = {}
        self.texts = Texts()
        self.odd: Counter[tuple[str, str]] = Counter()
        self.problems: list[Problem] = []
        self.resolution = 1
        """The coarsest unit of time in the files, in nanoseconds. Shorter overlaps of neighbours are ignored."""
        self.file = ""
        self.spans = Table(
            trace="q", id="Q", parent_id="Q", parent="q", start="q", end="q", site="I", process="I", thread="I",
            flags="H", attributes="q",
        )  # fmt: skip
        self.points = Table(
            owner="q", trace="q", id="Q", process="I", time="q", kind="B", key="Q", channel="I", site="I",
            text="q", attributes="q",
        )  # fmt: skip
        self.links = Table(
            trace="q", id="Q", source="q", source_time="q", target="q", target_time="q", source_kind="B",
            target_kind="B", kind="B", channel="I", text="q",
        )  # fmt: skip
        self.counted: dict[int, int] = {}
        """The number of calls of each site that were only counted."""
        self.joined = Table(source="q", target="q")
        """Edges between points, by their rows."""

    def count_odd(self, noun: str, what: str, count: int = 1) -> None:
        """Count an oddity, for example `count_odd("span", "end before the start; taken to last no time")`."""
        if count:
            self.odd[noun, what] += count

    def unknown(self, fields: Iterable[str], where: str) -> None:
        """Count unknown fields, by their names as long as there are few."""
        for name in fields:
            what = f"unknown {where}, left out: {name[:40]}"
            if ("field", what) not in self.odd and len(self.odd) > MOST_KINDS:
                what = f"unknown {where}, left out"
            self.count_odd("field", what)

    def all_problems(self, where: str) -> list[Problem]:
        """Return a problem with a count for each kind of oddity."""
        return self.problems + [
            Problem(where, f"{count:,} {noun if count == 1 else _plural(noun)}: {what}")
            for (noun, what), count in self.odd.items()
        ]

    # Numbers for names

    def string(self, text: str) -> int:
        number = self.strings.get(text)
        return self.strings.setdefault(_clean(text), len(self.strings)) if number is None else number

    def site(self, place: Place, component: str, kind: str = "function") -> int:
        """Return the number of a code location."""
        module, qualname, file, line = place
        key = (module, qualname, file, line, kind)
        number = self._site_ids.get(key)
        if number is None:
            number = self._site_ids[key] = len(self.sites)
            module, qualname, file, component = _clean(module), _clean(qualname), _clean(file), _clean(component)
            self.sites.append(Site(module, qualname, file, line, line, kind, component=component))
        return number

    def process(self, service: str, host: str = "", instance: str = "", pid: int = 0) -> int:
        info = ProcessInfo(_clean(service), _clean(host), _clean(instance), pid)
        number = self.processes.setdefault(info, len(self.processes))
        if number == len(self.files):
            self.files.append(self.file)
        return number

    def thread(self, process: int, name: str) -> int:
        return self.threads.setdefault((process, _clean(name)), len(self.threads) + 1) if name else 0

    def trace(self, written: object) -> int:
        """Return the number of a trace, given its hexadecimal id of 64 or 128 bits; -1 for none."""
        text = as_text(written).strip().lower()
        if not text or not text.strip("0"):
            return -1
        if len(text) not in (16, 32) and not _short_hex(text, 32):
            self.count_odd("trace id", "neither 16 nor 32 hexadecimal digits; taken as a name")
            text = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
        elif not _HEX.fullmatch(text):
            self.count_odd("trace id", "not hexadecimal; taken as a name")
            text = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
        text = text.rjust(32, "0")
        return self.traces.setdefault(text, len(self.traces))

    def span_id(self, written: object) -> int:
        """Return a span's id as a number, 0 for none."""
        text = as_text(written).strip()
        if not text:
            return 0
        if len(text) <= 16 and _HEX.fullmatch(text):
            return int(text, 16)
        self.count_odd("span id", "not 16 hexadecimal digits; taken as a name")
        return _hashed(text)

    # Times

    def ns(self, value: object, unit: int = 1) -> int:
        """Convert a time to nanoseconds since 1970, given the unit in nanoseconds; `MISSING` if it is invalid."""
        if value is None or value == "":
            return MISSING
        try:
            if isinstance(value, bool):
                raise ValueError
            if isinstance(value, int):
                number = value * unit
            elif isinstance(value, str) and value.strip().lstrip("-").isdigit() and len(value) < 40:
                number = int(value) * unit
            else:
                exact = Decimal(str(value))
                if not math.isfinite(exact):
                    raise ValueError
                number = round(exact * unit)
        except (ValueError, InvalidOperation, OverflowError, TypeError):
            self.count_odd("time", "not a number; left out")
            return MISSING
        if not EARLIEST <= number <= LATEST:
            self.count_odd("time", "before 1897 or after 2116; moved to that bound")
            return LATEST if number > 0 else EARLIEST
        return number

    # Rows

    def span(
        self, *, start: int, end: int, site: int, process: int, trace: int = -1, id_: int = 0, parent_id: int = 0,
        thread: int = 0, flags: int = 0, attributes: Mapping[str, Any] | None = None, parent: int = -1,
    ) -> int:  # fmt: skip
        """Add a span and return its row.

        `parent` is the row of an existing span; otherwise `parent_id` names the parent, or is 0.
        """
        text = self.texts.add_json(attributes) if attributes else -1
        return self.spans.add(trace, id_, parent_id, parent, start, end, site, process, thread, flags, text)

    def pseudo(self, process: int, thread: int, trace: int = -1, id_: int = 0) -> int:
        """Add a span without call and bounds, for a thread or host, and return its row."""
        return self.span(
            start=MISSING, end=MISSING, site=0, process=process, trace=trace, id_=id_, thread=thread, flags=PSEUDO
        )

    def log(
        self, time: int, text: str, *, owner: int = -1, trace: int = -1, id_: int = 0, process: int = 0,
        level: int = 20, logger: str = "", site: int = 0, attributes: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Add a log line of a span, given by row or by id, else of a process."""
        more = self.texts.add_json(attributes) if attributes else -1
        channel = self.string(logger)
        self.points.add(
            owner, trace, id_, process, time, Kind.LOG, max(level, 0), channel, site, self.texts.add(text), more
        )

    def point(
        self, owner: int, time: int, kind: int, *, channel: str = "", text: str = "", site: int = 0, key: int = 0
    ) -> int:
        """Add another event of a span or pseudo span, and return its row."""
        number = self.texts.add(text)
        return self.points.add(owner, -1, 0, 0, time, kind, key, self.string(channel), site, number, -1)

    def link(
        self, target: int, *, trace: int = -1, id_: int = 0, source: int = -1, source_time: int = MISSING,
        target_time: int = MISSING, source_kind: int = Kind.SEND, target_kind: int = Kind.JOIN,
        kind: int = EdgeKind.USE, channel: str = "link", text: str = "",
    ) -> None:  # fmt: skip
        """Add an edge from a span, given by row or by id, to the span of row `target`.

        Without times, it leads to the start of the target, from the end of the source, or from that moment if the source is
        still running.
        """
        number = self.texts.add(text)
        self.links.add(
            trace, id_, source, source_time, target, target_time, source_kind, target_kind, kind, self.string(channel),
            number,
        )  # fmt: skip


def _clean(text: str) -> str:
    """Replace lone surrogates, which JSON can contain, but which cannot be encoded."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _short_hex(text: str, longest: int) -> bool:
    """Return whether a text is a hexadecimal id; Jaeger's UI omits leading zeros."""
    return len(text) <= longest and _HEX.fullmatch(text) is not None


def _hashed(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


def _plural(noun: str) -> str:
    return noun[:-1] + "ies" if noun.endswith("y") else noun + ("es" if noun.endswith(("s", "x", "ch")) else "s")
