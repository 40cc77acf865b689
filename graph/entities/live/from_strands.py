"""Follow the machines, processes, threads and tasks of a live run, and the messages between them.

`graph/entities/from_strands.py` does it for finished runs. A thread exists until it has ended. A task exists until its process
is over, or until more than `MOST_STRANDS` others ran since. Invariant: the memory for pending messages is bounded; the oldest
are forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from clew.graph.entities.events import Happening
from clew.graph.entities.live.decoded_chunks import Decoded
from clew.graph.entities.live.message_pairs import Messages
from clew.graph.entities.live.state import OUTSIDE, Entity, LiveState, Naming, Place, Row, Table, table_of
from clew.graph.model.graph import UNNAMED_MACHINE
from clew.graph.model.processes.process_names import process_names
from clew.records.format.event import CALLS, FLAG_BYTES, Kind
from clew.records.read.process_records import ProcessRecords

MOST_STRANDS = 4000
"""The maximum number of strands at a time; the one that was idle for the longest time is deleted first."""

I64 = npt.NDArray[np.int64]
_EDGES = [int(Kind.SEND), int(Kind.RECEIVE), int(Kind.JOIN), int(Kind.SCOPE_BEGIN)]
_CALLS = [int(kind) for kind in CALLS]


class LiveStrands:
    """Extracts entity events from records, as rows of `COLUMNS`."""

    source: Final = "strands"
    failed = 0
    """Always 0, because no texts are parsed."""

    def __init__(self, state: LiveState, naming: Naming) -> None:
        self._naming = naming
        self.messages = Messages()
        self._placed = {number for number in state.entities if state.is_placed(number)}
        self._living: OrderedDict[int, int] = OrderedDict()
        """The existing strands with the uids of their processes, the most recently run at the end."""
        self._of_threads: dict[tuple[int, int], set[int]] = {}
        """The thread strands by process and thread."""
        self._sites: dict[int, int] = {}
        """The site of each strand's innermost call, 0 if unknown."""
        self._names: dict[int, str] = {}
        for number, entity in state.entities.items():
            what, *uid = entity.identity.split(" ")
            if what == "strand" and number in self._placed:
                self._living[number] = int(uid[0])

    def processes(self, processes: Sequence[ProcessRecords]) -> None:
        """Name the processes, given in the order of their starts; a name depends on the other processes."""
        argvs = [one.info.get("argv") for one in processes]
        commands = [[str(word) for word in argv] if isinstance(argv, list) else [] for argv in argvs]
        places = {one.header.uid: place for place, one in enumerate(processes)}
        parents = [places.get(one.header.parent_uid, -1) for one in processes]
        names = process_names(commands, parents)
        self._names = {one.header.uid: name or "a process" for one, name in zip(processes, names, strict=True)}
        for uid, name in self._names.items():
            if f"process {uid}" in self._naming.numbers:
                self._naming.entity(f"process {uid}", name, "process")

    def put(self, saved: Mapping[str, Any]) -> None:
        """Restore what `all` and later calls of `changes` returned."""
        self.messages.put(saved.get("messages", {}))

    def all(self) -> dict[str, Any]:
        """Return what has to be saved with the state in order to resume here."""
        return {"messages": self.messages.all()}

    def changes(self) -> dict[str, Any]:
        return {"messages": self.messages.changes()}

    def happenings(self, parts: Sequence[Decoded]) -> Table:
        rows: list[Row] = []
        tables: list[I64] = []
        keys: list[npt.NDArray[np.uint64]] = []
        texts: list[str] = []
        for part in parts:
            numbers = self._strands(part, rows)
            found = part.columns
            edges = np.flatnonzero((found.ext >= 0) & np.isin(found.kind, _EDGES))
            edges = edges[(found.key[found.ext[edges]] != 0) | (found.kind[edges] == Kind.SEND)]
            ext = found.ext[edges]
            text = np.full(len(edges), -1, np.int64)
            bytes_of = np.flatnonzero(found.flags[ext] & FLAG_BYTES)
            text[bytes_of] = np.arange(len(bytes_of)) + len(texts)
            texts += [found.text(row) for row in edges[bytes_of].tolist()]
            of = np.full(len(edges), part.process.header.uid, np.uint64).view(np.int64)
            sites, channels = self._sites_at(part, numbers, edges), self._channels(part, ext)
            kinds = found.kind[edges].astype(np.int64)
            tables.append(np.stack((part.ns[edges], kinds, numbers[edges], channels, sites, text, of)))
            keys.append(found.key[ext])
        if tables:
            table, key = np.concatenate(tables, axis=1), np.concatenate(keys)
            order = np.argsort(table[0], kind="stable")
            rows += self.messages.communications(
                zip(*table[:, order].tolist(), key[order].tolist(), strict=True), texts
            )
        rows += self._excess(max((row[0] for row in rows), default=0))
        return table_of(rows)

    def forget(self, entities: Sequence[Entity]) -> None:
        """Do nothing: entity numbers are stored only for existing entities."""

    def ended(self, uid: int, serial: int, ns: int) -> list[Row]:
        """Return the deletions for a thread that ended."""
        return self._gone(self._of_threads.pop((uid, serial), set()) & self._living.keys(), ns)

    def over(self, uid: int, ns: int) -> list[Row]:
        """Return the deletions for a process that ended."""
        rows = self._gone({number for number, of in self._living.items() if of == uid}, ns)
        home = self._naming.numbers.get(f"process {uid}")
        for thread in [thread for thread in self._of_threads if thread[0] == uid]:
            del self._of_threads[thread]
        return rows + (self._gone({home}, ns) if home in self._placed else [])

    def _excess(self, ns: int) -> list[Row]:
        quiet = list(self._living)[: max(0, len(self._living) - MOST_STRANDS)]
        return self._gone(set(quiet), ns)

    def _gone(self, numbers: set[Any], ns: int) -> list[Row]:
        for number in numbers:
            self._living.pop(number, None)
            self._sites.pop(number, None)
            self._placed.discard(number)
        return [(ns, number, OUTSIDE, 0, 0, int(Happening.DELETION)) for number in sorted(numbers)]

    def _strands(self, part: Decoded, rows: list[Row]) -> I64:
        """Return the strand of each record, and append the positions of new strands to `rows`."""
        found, first, of = np.unique(part.keys, return_index=True, return_inverse=True)
        begins = part.ns[first].tolist()
        numbers = [self._strand(part, key, ns, rows) for key, ns in zip(found.tolist(), begins, strict=True)]
        return np.array(numbers, np.int64)[of]

    def _strand(self, part: Decoded, key: int, ns: int, rows: list[Row]) -> int:
        process, uid = part.process, part.process.header.uid
        thread = process.threads.get(part.serial)
        identity, kind = f"strand {uid} thread {part.serial}", "thread"
        name = (thread.name if thread else "") or f"thread {part.serial}"
        if key:
            info = process.strands.get(key)
            identity, kind = f"strand {uid} {key}", (info and info.kind) or "task"
            name = (info and info.name) or f"a {kind}"
        number = self._naming.entity(identity, name, kind)
        if number not in self._placed:
            host = str(process.info.get("host") or UNNAMED_MACHINE)
            machine = self._naming.entity(f"machine {host}", host, "machine")
            home = self._naming.entity(f"process {uid}", self._names.get(uid, "a process"), "process")
            for entity, container in ((machine, OUTSIDE), (home, machine), (number, home)):
                if entity not in self._placed:
                    self._placed.add(entity)
                    rows.append((ns, entity, container, 0, 0, int(Happening.POSITION)))
        self._living[number] = uid
        self._living.move_to_end(number)
        if not key:
            self._of_threads.setdefault((uid, part.serial), set()).add(number)
        return number

    def _sites_at(self, part: Decoded, numbers: I64, rows: I64) -> I64:
        """Return the site of the call around each row if its strand entered or resumed it last, else 0."""
        found = part.columns
        order = np.argsort(numbers, kind="stable")
        is_call = np.isin(found.kind[order], _CALLS)
        last = np.maximum.accumulate(np.where(is_call, np.arange(len(order)), -1))
        last_of = np.empty(len(order), np.int64)
        last_of[order] = np.where(last >= 0, order[last], -1)
        call = last_of[rows]
        same = (call >= 0) & (numbers[call] == numbers[rows])
        around = np.isin(found.kind, (int(Kind.ENTER), int(Kind.RESUME)))
        around_site = np.where(same & around[call], found.site[call], 0)
        sites, of = np.unique(around_site, return_inverse=True)
        found_sites = np.array([self._site(part.process, site) for site in sites.tolist()], np.int64)[of]
        for number in np.unique(numbers[rows[~same]]).tolist():
            found_sites[~same & (numbers[rows] == number)] = self._sites.get(number, 0)
        ends = np.flatnonzero(np.append(numbers[order][1:] != numbers[order][:-1], True)) if len(order) else order
        for end in ends.tolist():
            row = int(order[last[end]])
            if last[end] >= 0 and numbers[row] == numbers[order[end]]:
                site = self._site(part.process, int(found.site[row])) if around[row] else 0
                self._sites[int(numbers[row])] = site
        return found_sites

    def _site(self, process: ProcessRecords, number: int) -> int:
        info = process.sites.get(number)
        return self._naming.site(Place(info.file, info.line, f"{info.module}:{info.qualname}")) if info else 0

    def _channels(self, part: Decoded, ext: npt.NDArray[np.int32]) -> I64:
        found, of = np.unique(part.columns.channel[ext], return_inverse=True)
        numbers = [self._naming.channel(part.process.strings.get(number, "")) for number in found.tolist()]
        return np.array(numbers, np.int64)[of]
