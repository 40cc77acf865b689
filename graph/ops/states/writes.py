"""The writes of a run by the object that they change, and the lives of objects whose address is used again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from clew.graph.model.cached import cached
from clew.graph.model.graph import ExecutionGraph
from clew.graph.store.program_texts import ProgramTexts
from clew.records.format.event import UNFOLLOWED, Kind
from clew.records.format.states import (
    CLOSURE,
    DELETED,
    GLOBAL,
    ITEM,
    METHOD,
    SETATTR,
    WrittenValue,
    item_of,
    written_value,
)
from clew.source.state_reads import Path, Source, parsed

_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@dataclass(frozen=True)
class Write:
    """One write of one object."""

    row: int
    ns: int
    channel: str
    """See `clew.records.format.states`; of a call of `setattr`, the attribute."""
    item: str
    """The item's key where `channel` is `ITEM`, else ""."""
    value: WrittenValue

    @property
    def item_name(self) -> str:
        """The item's key for people; "…" where only its type or length was recorded."""
        return "…" if written_value(self.item).key or self.item.startswith("str of ") else self.item

    @property
    def changes_content(self) -> bool:
        return self.channel == ITEM or self.channel.startswith(METHOD)

    @property
    def deletes(self) -> bool:
        return self.value.text == DELETED


class Writes:
    """The writes of a run. Use `Writes.of`, which caches them with the graph."""

    def __init__(self, graph: ExecutionGraph) -> None:
        self.graph = graph
        rows = graph.rows_of([Kind.WRITE])
        keys = graph.extensions.key[graph.ext[rows]] if len(rows) else np.zeros(0, np.uint64)
        order = np.lexsort((rows, graph.ts[rows], keys))
        self._rows, self._keys = rows[order], keys[order]
        self._sources: dict[str, Source | None] = {}

    @classmethod
    def of(cls, graph: ExecutionGraph) -> Writes:
        return cached(graph, "writes", lambda: cls(graph))

    def __bool__(self) -> bool:
        return len(self._rows) > 0

    @cached_property
    def is_recorded(self) -> bool:
        """Whether the run was asked to record writes, or has some."""
        return bool(self) or len(self.graph.rows_of([Kind.GIVEN])) > 0

    def at(self, row: int) -> Write:
        graph, channel, text = self.graph, self.graph.channel(row), self.graph.text(row)
        item, value = item_of(text) if channel in {ITEM, SETATTR} else ("", text)
        if channel == SETATTR:
            channel, item = item.strip("'"), ""
        return Write(row, graph.at("ts", row), channel, item, written_value(value))

    @property
    def rows(self) -> list[int]:
        """All writes, by time."""
        return sorted(self._rows.tolist(), key=lambda row: (self.graph.at("ts", row), row))

    def of_key(self, key: int) -> list[int]:
        """Return the rows that wrote the objects that had a key, in order of time."""
        first, last = (int(np.searchsorted(self._keys, np.uint64(key), side)) for side in _SIDES)
        rows: list[int] = self._rows[first:last].tolist()
        return rows

    def of_object(self, key: int, ns: int) -> list[int]:
        """Return the rows that wrote an object, in order of time: those of the object that had the key at a time."""
        rows = self.of_key(key)
        births = self.births.get(key, [])
        born = max((birth for birth in births if birth <= ns), default=None)
        dies = min((birth for birth in births if birth > ns), default=None)
        return [
            row
            for row in rows
            if (born is None or self.graph.at("ts", row) >= born) and (dies is None or self.graph.at("ts", row) < dies)
        ]

    @cached_property
    def births(self) -> dict[int, list[int]]:
        """The times of the outermost calls of `__init__` by object, ascending."""
        graph = self.graph
        found: dict[int, list[int]] = {}
        initialisers = {number for number, site in enumerate(graph.sites) if site.qualname.endswith(".__init__")}
        rows = graph.rows_of([Kind.GIVEN])
        for row in rows.tolist():
            call = graph.owner_of(row)
            if call != row - 1 or graph.at("site", call) not in initialisers:
                continue
            caller = graph.enclosing_call(call)
            inherited = (
                caller >= 0 and graph.at("site", caller) in initialisers and graph.key(caller + 1) == graph.key(row)
            )
            if not inherited:
                found.setdefault(graph.key(row), []).append(graph.at("ts", row))
        return {key: sorted(times) for key, times in found.items()}

    @cached_property
    def classes(self) -> dict[int, str]:
        """Class names by object, from the methods that got it as their first parameter, `self`."""
        graph = self.graph
        known: dict[int, str] = {}
        for row in graph.rows_of([Kind.GIVEN], "self").tolist():
            owner = graph.sites[graph.function_site(row)].qualname.rpartition(".")[0]
            if owner and not owner.endswith("<locals>"):
                known.setdefault(graph.key(row), owner.rpartition(".")[2])
        return known

    @cached_property
    def _private(self) -> re.Pattern[str]:
        parts = {part for site in self.graph.sites for part in site.qualname.split(".")[:-1]}
        classes = sorted((part.lstrip("_") for part in parts if part.isidentifier()), key=len, reverse=True)
        return re.compile(f"_(?:{'|'.join(map(re.escape, classes))})(__.+)") if classes else re.compile("(?!)")

    def source_name(self, attribute: str) -> str:
        """Return an attribute's name in the source: `__count` for `_Counter__count`."""
        found = self._private.fullmatch(attribute)
        return found[1] if found else attribute

    def given(self, call: int) -> dict[str, int]:
        """Return the keys of the objects that a call got, by parameter; closure variables have their channel as a name."""
        graph, found = self.graph, {}
        row = call + 1
        while row < len(graph) and graph.at("kind", row) == Kind.GIVEN:
            found[graph.channel(row)] = graph.key(row)
            row += 1
        return found

    def source_of(self, file: str) -> Source | None:
        """Return the source of a file as it ran, None if that is not known."""
        if file not in self._sources:
            texts: ProgramTexts | None = self.graph.answers.get(ProgramTexts.NAME)
            text = texts.of(file) if texts is not None else None
            self._sources[file] = parsed(text) if text is not None else None
        return self._sources[file]

    @cached_property
    def by_name(self) -> dict[tuple[str, str], list[int]]:
        """Rows of writes by what the source calls the changed object: its module and its path, such as `stock` or `cart.items`.

        Variables have their own name as a path.
        """
        graph = self.graph
        found: dict[tuple[str, str], list[int]] = {}
        names: dict[tuple[int, str], Path | None] = {}
        for row in self.rows:
            channel, site = graph.channel(row), graph.at("site", row)
            module = graph.sites[site].module
            if channel.startswith((GLOBAL, CLOSURE)):
                found.setdefault((module, channel.partition(" ")[2]), []).append(row)
                continue
            if (site, channel) not in names:
                source = self.source_of(graph.sites[site].file)
                names[site, channel] = source.receiver(graph.sites[site].line, channel) if source else None
            path = names[site, channel]
            if path is not None and path.root:
                found.setdefault((module, path.text), []).append(row)
        return found

    @cached_property
    def by_attribute(self) -> dict[str, list[int]]:
        """Rows of the writes of attributes by the attribute's name, by time."""
        graph = self.graph
        found: dict[str, list[int]] = {}
        for row in self.rows:
            channel = self.at(row).channel if graph.channel(row) == SETATTR else graph.channel(row)
            if channel.isidentifier():
                found.setdefault(channel, []).append(row)
        return found

    @cached_property
    def _losses(self) -> list[tuple[int, int]]:
        """The time and the site of each beginning of a gap; site 0 may have lost events of any site."""
        graph = self.graph
        rows = (row for row in graph.rows_of([Kind.GAP]).tolist() if graph.channel(row) != UNFOLLOWED)
        return [(graph.at("ts", row), graph.at("site", row)) for row in rows if not graph.is_over(row)]

    @cached_property
    def _sites(self) -> dict[str, set[int]]:
        """The sites that write an attribute or a variable of a name, by channel."""
        found: dict[str, set[int]] = {}
        for row in self._rows.tolist():
            found.setdefault(self.graph.channel(row), set()).add(self.graph.at("site", row))
        return found

    def may_miss(self, rows: list[int], until_ns: int) -> bool:
        """Return whether writes of a state may be missing between the last of its rows and a time."""
        graph, last = self.graph, rows[-1]
        last_ns, sites = graph.at("ts", last), {graph.at("site", row) for row in rows}
        if not self.at(last).changes_content:
            sites |= self._sites[graph.channel(last)]
        # A line that wrote too often is not recorded again.
        return any(ns <= until_ns and (site in sites or (site == 0 and ns >= last_ns)) for ns, site in self._losses)

    def before(self, rows: list[int], reader: int) -> list[int]:
        """Return the rows that precede a reader: in its strand in the order of execution, elsewhere in time."""
        graph = self.graph
        strand, ns = graph.at("strand", reader), graph.at("ts", reader)
        return [
            row for row in rows if (row < reader if graph.at("strand", row) == strand else graph.at("ts", row) <= ns)
        ]
