"""The entities that a spec's `entity` rules tell of in a run that goes on, as `recorded` reads them of one that is over.

Invariant: a text is read once as long as it comes up again and again; what cannot be read is counted and left out. A plain
value names an object of which it is known that it is unique by it; until there is one, it is an entity of its own, which
becomes that object.
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
    """Gives what happens as a table. Of threads and processes it tells nothing."""

    source: Final = "spec"

    def __init__(self, state: LiveState, naming: Naming) -> None:
        self._naming = naming
        self.failed = 0
        self._meant: dict[int, dict[bytes, int]] = {}
        """By process and text a row of `_told_by`; row 0 cannot be read."""
        self._told_by = np.zeros((1024, 3), np.int64)
        """Happening, entity, other entity."""
        self._texts = 1
        self._classes: dict[str, list[str]] = {}
        """Of objects that are unique by it."""
        self._told: Counter[tuple[str, str]] = Counter()
        """By rule and class, how many texts tell of it."""
        self._several: Counter[str] = Counter()
        """By class, objects that are known by their addresses."""
        for entity in state.entities.values():
            what, _, rest = entity.identity.partition(" ")
            if what == "object":
                self._classes.setdefault(json.loads(rest)[1], []).append(entity.kind)
            elif what == "address":
                self._several[entity.kind] += 1

    def put(self, kept: Mapping[str, Any]) -> None:
        """Entities are known by the state: nothing else is kept."""

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
            self._meant.clear()
            self._texts = 1
        found, uid = part.columns, part.process.header.uid
        told = np.flatnonzero(found.kind == Kind.ENTITY)
        ext = found.ext[told]
        bad = (ext < 0) | ((found.flags[ext] & (FLAG_FAILED | FLAG_TRUNCATED)) != 0)
        told, ext = told[~bad], ext[~bad]
        texts = found.texts.tobytes()
        places = zip(found.text_start[ext].tolist(), found.text_start[ext + 1].tolist(), strict=True)
        known = self._meant.setdefault(uid, {})
        meant = [known.get(texts[begin:end], -1) for begin, end in places]
        if -1 in meant:
            # One text may change what is known of all others.
            for place in range(len(meant)):
                row = int(ext[place])
                meant[place] = self._read(uid, texts[found.text_start[row] : found.text_start[row + 1]])
        happened = self._told_by[np.array(meant, np.int64)]
        whole = happened[:, 0] > 0
        self.failed += int(bad.sum()) + int(np.count_nonzero(~whole))
        kind, first, other = happened[whole].T
        told, ext = told[whole], ext[whole]
        sites = _numbered(found.site[told], lambda number: self._site(part.process, number))
        strings = part.process.strings
        channels = _numbered(found.channel[ext], lambda number: self._naming.channel(strings.get(number, "")))
        return np.stack((part.ns[told], first, other, channels, sites, kind), axis=1)

    def ended(self, _uid: int, _serial: int, _ns: int) -> list[Row]:
        return []

    def over(self, _uid: int, _ns: int) -> list[Row]:
        return []

    def forget(self, entities: Sequence[Entity]) -> None:
        """Those have other numbers from now on."""
        if entities:
            self._meant.clear()

    def _site(self, process: ProcessRecords, number: int) -> int:
        info = process.sites.get(number)
        return self._naming.site(Place(info.file, info.line, f"{info.module}:{info.qualname}")) if info else 0

    def _read(self, uid: int, text: bytes) -> int:
        """The row of what a text means."""
        row = self._meant.setdefault(uid, {}).get(text)
        if row is not None:
            return row
        meant: tuple[int, ...] | None = None
        try:
            said = json.loads(text)
            kind, counts = _HAPPENINGS[said["event"]]
            values = list(said["values"])
            if kind == Happening.POSITION and values[1:] == [None]:
                del values[1:]
            if len(values) in counts:
                rule = str(said["entity"])
                meant = (kind, *(self._entity(uid, rule, value) for value in values), *[OUTSIDE] * (2 - len(values)))
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        row = 0
        if meant is not None:
            row, self._texts = self._texts, self._texts + 1
            if row >= len(self._told_by):
                self._told_by = np.concatenate((self._told_by, np.zeros_like(self._told_by)))
            self._told_by[row] = meant
        self._meant.setdefault(uid, {})[text] = row
        return row

    def _entity(self, uid: int, rule: str, value: object) -> int:
        """Raises KeyError, TypeError or ValueError for what cannot be read."""
        if not isinstance(value, dict):
            unique = value if isinstance(value, str) else json.dumps(value)
            among = self._classes.get(unique)
            if not among:
                return self._naming.entity(_plain(unique), unique, "")
            return self._object(max(among, key=lambda name: (self._told[rule, name], name)), unique)
        name = str(value["class"])
        self._told[rule, name] += 1
        if "unique" in value:
            return self._object(name, str(value["unique"]))
        identity = f"address {uid} {name} {int(value['id'])}"
        if identity not in self._naming.numbers:
            self._several[name] += 1
        known = self._naming.known(self._naming.numbers.get(identity, -1))
        number = self._several[name]
        return self._naming.entity(identity, known.name if known else f"{name} {number}" if number > 1 else name, name)

    def _object(self, name: str, unique: str) -> int:
        identity = f"object {json.dumps([name, unique])}"
        if identity not in self._naming.numbers:
            if _plain(unique) in self._naming.numbers:
                self._naming.rename(_plain(unique), identity)
            known = self._classes.setdefault(unique, [])
            if name not in known:
                known.append(name)
                self._meant.clear()  # plain values may mean it
        return self._naming.entity(identity, unique or name, name)


def _plain(unique: str) -> str:
    return f"value {unique}"


def _numbered(column: npt.NDArray[np.uint32], number: Callable[[int], int]) -> Table:
    """A process's numbers as the run's."""
    found, of = np.unique(column, return_inverse=True)
    return np.array([number(one) for one in found.tolist()], np.int64)[of]
