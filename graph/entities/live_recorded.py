"""The entities that a spec's `entity` rules tell of in a run that goes on, as `recorded` reads them of one that is over.

Invariant: a text is read once as long as it comes up again and again; what cannot be read is counted and left out. A plain
value names an object of which it is known that it is unique by it; until there is one, it is an entity of its own, which
becomes that object.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clew.graph.entities.events import Happening
from clew.graph.entities.live import OUTSIDE, Entity, LiveState, Naming, Place, Row
from clew.graph.entities.stretches import Decoded
from clew.records.event import FLAG_FAILED, FLAG_TRUNCATED, Kind
from clew.records.found import ProcessRecords

MOST_TEXTS = 1 << 17
_HAPPENINGS = {
    "position": (Happening.POSITION, (1, 2)),
    "deletion": (Happening.DELETION, (1,)),
    "communication": (Happening.COMMUNICATION, (2,)),
}


class _Meant(NamedTuple):
    kind: int
    first: int
    other: int


class LiveRecorded:
    """Gives what happens as rows of `live.COLUMNS`."""

    def __init__(self, state: LiveState, naming: Naming) -> None:
        self._naming = naming
        self.failed = 0
        self._meant: dict[tuple[int, bytes], _Meant | None] = {}
        """By process and text."""
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

    def happenings(self, parts: Sequence[Decoded]) -> list[Row]:
        rows: list[Row] = []
        for part in parts:
            found, uid = part.columns, part.process.header.uid
            told = np.flatnonzero(found.kind == Kind.ENTITY)
            ext = found.ext[told]
            bad = (ext < 0) | ((found.flags[ext] & (FLAG_FAILED | FLAG_TRUNCATED)) != 0)
            self.failed += int(bad.sum())
            told, ext = told[~bad], ext[~bad]
            texts, begins, ends = (
                found.texts.tobytes(),
                found.text_start[ext].tolist(),
                found.text_start[ext + 1].tolist(),
            )
            sites = self._numbers(part.process, found.site[told].tolist())
            channels = [part.process.strings.get(one, "") for one in found.channel[ext].tolist()]
            for ns, begin, end, site, channel in zip(
                part.ns[told].tolist(), begins, ends, sites, map(self._naming.channel, channels), strict=True
            ):
                text = texts[begin:end]
                try:
                    meant = self._meant[uid, text]
                except KeyError:
                    meant = self._read(uid, text)
                if meant is None:
                    self.failed += 1
                else:
                    rows.append((ns, meant.first, meant.other, channel, site, meant.kind))
        rows.sort(key=lambda row: row[0])
        return rows

    def forget(self, entities: Sequence[Entity]) -> None:
        """Those have other numbers from now on."""
        if entities:
            self._meant.clear()

    def _numbers(self, process: ProcessRecords, sites: list[int]) -> list[int]:
        known: dict[int, int] = {}
        for site in set(sites):
            info = process.sites.get(site)
            known[site] = (
                self._naming.site(Place(info.file, info.line, f"{info.module}:{info.qualname}")) if info else 0
            )
        return [known[site] for site in sites]

    def _read(self, uid: int, text: bytes) -> _Meant | None:
        if len(self._meant) >= MOST_TEXTS:
            self._meant.clear()
        meant: _Meant | None = None
        try:
            said = json.loads(text)
            kind, counts = _HAPPENINGS[said["event"]]
            values = list(said["values"])
            if kind == Happening.POSITION and values[1:] == [None]:
                del values[1:]
            if len(values) in counts:
                rule = str(said["entity"])
                meant = _Meant(
                    kind, *(self._entity(uid, rule, value) for value in values), *[OUTSIDE] * (2 - len(values))
                )
        except (ValueError, KeyError, TypeError, RecursionError):
            pass
        self._meant[uid, text] = meant
        return meant

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
