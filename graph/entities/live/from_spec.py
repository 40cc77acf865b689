"""Read the entity events of a live run that `entity` rules record; `graph/entities/from_spec.py` reads finished runs.

Invariant: a frequent text is parsed once. An unreadable text is counted and left out. A plain value identifies the object with
this `unique` value. Until such an object is known, the value is an entity of its own, which then becomes that object.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from clew.graph.entities.events import Happening
from clew.graph.entities.live.decoded_chunks import Decoded
from clew.graph.entities.live.state import COLUMNS, OUTSIDE, Entity, LiveState, Naming, Place, Row, Table
from clew.records.format.event import FLAG_FAILED, FLAG_TRUNCATED, Kind
from clew.records.read.process_records import ProcessRecords

MOST_TEXTS = 1 << 17
_HAPPENINGS = {
    "position": (Happening.POSITION, (1, 2)),
    "deletion": (Happening.DELETION, (1,)),
    "communication": (Happening.COMMUNICATION, (2,)),
}


class LiveRecorded:
    """Extracts entity events from records. Threads and processes are not entities here."""

    source: Final = "spec"

    def __init__(self, state: LiveState, naming: Naming) -> None:
        self._naming = naming
        self.failed = 0
        self._rows: dict[int, dict[bytes, int]] = {}
        """The row of `_meanings` by process and text; row 0 means unreadable."""
        self._meanings = np.zeros((1024, 3), np.int64)
        """Happening, entity and other entity of each row."""
        self._texts = 1
        self._classes: dict[str, list[str]] = {}
        """The classes of the objects with a `unique` value."""
        self._mentions: Counter[tuple[str, str]] = Counter()
        """The number of texts by rule and class."""
        self._by_address: Counter[str] = Counter()
        """The number of objects by class that are identified by their addresses."""
        for entity in state.entities.values():
            what, _, rest = entity.identity.partition(" ")
            if what == "object":
                self._classes.setdefault(json.loads(rest)[1], []).append(entity.kind)
            elif what == "address":
                self._by_address[entity.kind] += 1

    def put(self, saved: Mapping[str, Any]) -> None:
        """Do nothing: the state has the entities, and nothing else is saved."""

    def all(self) -> dict[str, Any]:
        return {}

    def changes(self) -> dict[str, Any]:
        return {}

    def processes(self, processes: Sequence[ProcessRecords]) -> None:
        pass

    def happenings(self, parts: Sequence[Decoded]) -> Table:
        tables = [self._happenings(part) for part in parts]
        table = np.concatenate(tables) if tables else np.zeros((0, len(COLUMNS)), np.int64)
        return table[np.argsort(table[:, 0], kind="stable")]

    def _happenings(self, part: Decoded) -> Table:
        if self._texts >= MOST_TEXTS:
            self._rows.clear()
            self._texts = 1
        found, uid = part.columns, part.process.header.uid
        rows = np.flatnonzero(found.kind == Kind.ENTITY)
        ext = found.ext[rows]
        bad = (ext < 0) | ((found.flags[ext] & (FLAG_FAILED | FLAG_TRUNCATED)) != 0)
        rows, ext = rows[~bad], ext[~bad]
        texts = found.texts.tobytes()
        places = zip(found.text_start[ext].tolist(), found.text_start[ext + 1].tolist(), strict=True)
        known = self._rows.setdefault(uid, {})
        meant = [known.get(texts[begin:end], -1) for begin, end in places]
        if -1 in meant:
            # One text can change the meaning of all others.
            for place in range(len(meant)):
                row = int(ext[place])
                meant[place] = self._read(uid, texts[found.text_start[row] : found.text_start[row + 1]])
        happened = self._meanings[np.array(meant, np.int64)]
        whole = happened[:, 0] > 0
        self.failed += int(bad.sum()) + int(np.count_nonzero(~whole))
        kind, first, other = happened[whole].T
        rows, ext = rows[whole], ext[whole]
        sites = _numbered(found.site[rows], lambda number: self._site(part.process, number))
        strings = part.process.strings
        channels = _numbered(found.channel[ext], lambda number: self._naming.channel(strings.get(number, "")))
        return np.stack((part.ns[rows], first, other, channels, sites, kind), axis=1)

    def ended(self, _uid: int, _serial: int, _ns: int) -> list[Row]:
        return []

    def over(self, _uid: int, _ns: int) -> list[Row]:
        return []

    def forget(self, entities: Sequence[Entity]) -> None:
        """Drop the meanings, because forgotten entities get other numbers from now on."""
        if entities:
            self._rows.clear()

    def _site(self, process: ProcessRecords, number: int) -> int:
        info = process.sites.get(number)
        return self._naming.site(Place(info.file, info.line, f"{info.module}:{info.qualname}")) if info else 0

    def _read(self, uid: int, text: bytes) -> int:
        """Return the row of the meaning of a text."""
        row = self._rows.setdefault(uid, {}).get(text)
        if row is not None:
            return row
        meant: tuple[int, ...] | None = None
        try:
            event = json.loads(text)
            kind, counts = _HAPPENINGS[event["event"]]
            values = list(event["values"])
            if kind == Happening.POSITION and values[1:] == [None]:
                del values[1:]
            if len(values) in counts:
                rule = str(event["entity"])
                meant = (kind, *(self._entity(uid, rule, value) for value in values), *[OUTSIDE] * (2 - len(values)))
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        row = 0
        if meant is not None:
            row, self._texts = self._texts, self._texts + 1
            if row >= len(self._meanings):
                self._meanings = np.concatenate((self._meanings, np.zeros_like(self._meanings)))
            self._meanings[row] = meant
        self._rows.setdefault(uid, {})[text] = row
        return row

    def _entity(self, uid: int, rule: str, value: object) -> int:
        """Return the entity of a value. Raises KeyError, TypeError or ValueError if it cannot be read."""
        if not isinstance(value, dict):
            unique = value if isinstance(value, str) else json.dumps(value)
            among = self._classes.get(unique)
            if not among:
                return self._naming.entity(_plain(unique), unique, "")
            return self._object(max(among, key=lambda name: (self._mentions[rule, name], name)), unique)
        name = str(value["class"])
        self._mentions[rule, name] += 1
        if "unique" in value:
            return self._object(name, str(value["unique"]))
        identity = f"address {uid} {name} {int(value['id'])}"
        if identity not in self._naming.numbers:
            self._by_address[name] += 1
        known = self._naming.known(self._naming.numbers.get(identity, -1))
        number = self._by_address[name]
        return self._naming.entity(identity, known.name if known else f"{name} {number}" if number > 1 else name, name)

    def _object(self, name: str, unique: str) -> int:
        identity = f"object {json.dumps([name, unique])}"
        if identity not in self._naming.numbers:
            if _plain(unique) in self._naming.numbers:
                self._naming.rename(_plain(unique), identity)
            known = self._classes.setdefault(unique, [])
            if name not in known:
                known.append(name)
                self._rows.clear()  # plain values can mean it
        return self._naming.entity(identity, unique or name, name)


def _plain(unique: str) -> str:
    return f"value {unique}"


def _numbered(column: npt.NDArray[np.uint32], number: Callable[[int], int]) -> Table:
    """Translate numbers of a process into numbers of the run."""
    found, of = np.unique(column, return_inverse=True)
    return np.array([number(one) for one in found.tolist()], np.int64)[of]
