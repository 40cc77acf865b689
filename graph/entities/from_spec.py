"""The entities that a spec's `entity` rules tell of, from the events that were recorded of them.

An object is known by what its class is unique by, in all processes, else by its address in its own. A plain value is the name
of an object that is unique by it; where objects of several classes are, of that class which events of the same rule tell of
most.
Invariant: a value's text is read once, however many events have it; an event that cannot be read is counted and left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from clew.graph.entities.events import I64, EntityEvents, Happening, bounded, numbered
from clew.graph.model.graph import ExecutionGraph
from clew.graph.model.text_templates import put_together
from clew.records.format.event import FLAG_FAILED, FLAG_TRUNCATED, Kind

_HAPPENINGS = {
    "position": (Happening.POSITION, (1, 2)),
    "deletion": (Happening.DELETION, (1,)),
    "communication": (Happening.COMMUNICATION, (2,)),
}
"""By their names, with how many values each may have."""
_STRING = r'"(?:[^"\\]|\\.)*"'
_VALUE = rf'\{{(?:[^"{{}}]|{_STRING})*\}}|{_STRING}|[^",\[\]{{}}]+'
_EVENT = (
    rf'^\{{"event": ?"(?P<event>[a-z]*)", ?"entity": ?(?P<rule>{_STRING}), ?"values": ?\['
    rf"(?P<first>{_VALUE})(?:, ?(?P<other>{_VALUE}))?\]\}}$"
)
"""As the recorder writes it (`Kind.ENTITY`)."""


class _Object(NamedTuple):
    """What identifies an entity. `process` is -1, and `id` 0, where something better than an address does. A plain value has no
    class."""

    name: str
    unique: str
    process: int = -1
    id: int = 0


class _Said(NamedTuple):
    """What some texts say, by text: a happening, 0 where it cannot be read, and places in `rules` and `values`; -1 for none."""

    happening: I64
    rule: I64
    first: I64
    other: I64
    rules: list[str]
    values: list[str]

    def at(self, texts: I64) -> _Said:
        happening, rule, first, other = (part[texts] for part in (self.happening, self.rule, self.first, self.other))
        return self._replace(happening=happening, rule=rule, first=first, other=other)


def recorded(graph: ExecutionGraph) -> EntityEvents | None:
    """None where no event of an entity was recorded."""
    rows = graph.rows_of([Kind.ENTITY])
    if not len(rows):
        return None
    rows = rows[np.argsort(graph.ts[rows], kind="stable")]
    ext = graph.ext[rows].astype(np.int64)
    whole = ext >= 0
    whole[whole] = (graph.extensions.flags[ext[whole]] & (FLAG_FAILED | FLAG_TRUNCATED)) == 0
    rows, ext, events = rows[whole], ext[whole], len(rows)
    codes, texts = _texts(graph, ext)
    said, of, process = _said(texts), codes, np.zeros(len(texts), np.int64)
    if len(graph.processes) > 1:
        # The same address means another object in another process.
        where = graph.strand_process[graph.strand[rows]].astype(np.int64)
        pairs, of = np.unique(codes * len(graph.processes) + where, return_inverse=True)
        said, process = said.at(pairs // len(graph.processes)), pairs % len(graph.processes)
    things, first, other = _objects(said, process, np.bincount(of, minlength=len(process)))
    kept = (first[of] >= 0) & ((other[of] >= 0) | (said.other[of] < 0))
    rows, ext, of = rows[kept], ext[kept], of[kept]
    a, b, order = numbered(first[of], other[of], len(things))
    names, classes = _called([things[number] for number in order])
    kind, channel = said.happening[of].astype(np.uint8), graph.extensions.channel[ext].astype(np.uint32)
    return EntityEvents(graph.ts[rows], kind, a, b, rows, channel, names, classes, events - len(rows))


def _texts(graph: ExecutionGraph, ext: I64) -> tuple[I64, pa.Array]:
    """The texts of some extensions: a code each, and what the codes stand for."""
    order = np.argsort(ext, kind="stable")
    ordered = ext[order]
    codes, known = np.empty(len(ext), np.int64), [pa.array([], pa.large_string())]
    for first, part in graph.extensions.texts.parts():
        low, high = np.searchsorted(ordered, [first, first + len(part.template)])
        if low == high:
            continue
        mine = order[low:high]
        encoded = put_together(part, ext[mine] - first).dictionary_encode()
        codes[mine] = encoded.indices.to_numpy() + sum(map(len, known))
        known.append(encoded.dictionary)
    # Parts may have the same texts.
    together = pa.concat_arrays(known).dictionary_encode()
    return together.indices.to_numpy().astype(np.int64)[codes], together.dictionary


def _said(texts: pa.Array) -> _Said:
    found = pc.extract_regex(texts, _EVENT)
    event, _ = _coded([pc.struct_field(found, "event")], _HAPPENINGS)
    rule, rules = _coded([pc.struct_field(found, "rule")])
    values, told = _coded([pc.struct_field(found, "first"), pc.struct_field(found, "other")])
    first, other = np.split(values, 2)
    # Of what has no second value the text of it is empty.
    other = np.where(other == (told.index("") if "" in told else -2), -1, other)
    # A position outside of any container may be said by a container of None.
    positions = event == list(_HAPPENINGS).index("position")
    other = np.where(positions & (other == (told.index("null") if "null" in told else -2)), -1, other)
    many = 1 + (other >= 0)
    happening = np.zeros(len(texts), np.int64)
    for code, (one, counts) in enumerate(_HAPPENINGS.values()):
        happening[(event == code) & np.isin(many, counts)] = one
    return _Said(happening, rule, first, other, rules, told)


def _coded(columns: list[pa.Array], known: Iterable[str] = ()) -> tuple[I64, list[str]]:
    """Columns of texts one after the other, each a code, -1 for null; those that are known come first."""
    first = pa.array(list(known), pa.large_string())
    encoded = pa.concat_arrays([first, *columns]).dictionary_encode()
    codes = pc.fill_null(encoded.indices, -1).to_numpy().astype(np.int64)[len(first) :]
    return codes, encoded.dictionary.to_pylist()


def _objects(said: _Said, process: I64, times: I64) -> tuple[list[_Object], I64, I64]:
    """The objects that there are, and which each text names, said so often in its process; -1 where it cannot be read."""
    readable = said.happening > 0
    first, other = np.where(readable, said.first, -1), np.where(readable, said.other, -1)
    rules, processes = max(1, len(said.rules)), int(process.max(initial=0)) + 1
    key = (np.concatenate((first, other)) * rules + np.tile(said.rule, 2)) * processes + np.tile(process, 2)
    key[np.concatenate((first, other)) < 0] = -1
    keys, of = np.unique(key, return_inverse=True)
    often = np.bincount(of, weights=np.tile(times, 2), minlength=len(keys)).astype(np.int64).tolist()
    values = [_value(text) for text in said.values]
    wanted = [(values[one // processes // rules], one // processes % rules, one % processes) for one in keys.tolist()]
    told: Counter[tuple[int, str]] = Counter()
    classes: dict[str, set[str]] = {}
    for (thing, rule, _), count, one in zip(wanted, often, keys.tolist(), strict=True):
        if one >= 0 and thing and thing.name and not thing.id:
            classes.setdefault(thing.unique, set()).add(thing.name)
            told[rule, thing.name] += count
    numbers: dict[_Object, int] = {}
    meant = np.full(len(keys), -1, np.int64)
    for place, ((thing, rule, where), one) in enumerate(zip(wanted, keys.tolist(), strict=True)):
        if one < 0 or thing is None:
            continue
        named = thing
        if thing.id:
            named = thing._replace(process=where)
        elif not thing.name and (among := classes.get(thing.unique)):
            _, name = max((told[rule, name], name) for name in among)
            named = thing._replace(name=name)
        meant[place] = numbers.setdefault(named, len(numbers))
    found = np.split(meant[of], 2)
    return list(numbers), found[0], found[1]


def _value(text: str) -> _Object | None:
    """None where it cannot be read."""
    try:
        value = json.loads(text)
        if not isinstance(value, dict):
            return _Object("", value if isinstance(value, str) else repr(value))
        if "unique" in value:
            return _Object(str(value["class"]), str(value["unique"]))
        return _Object(str(value["class"]), "", 0, int(value["id"]))
    except (ValueError, KeyError, TypeError):
        return None


def _called(things: list[_Object]) -> tuple[list[str], list[str]]:
    """Names and classes. Objects without a name have their class's, with numbers where there are several."""
    several = Counter(thing.name for thing in things if thing.process >= 0)
    numbers: Counter[str] = Counter()

    def name(thing: _Object) -> str:
        if thing.process < 0:
            return thing.unique or thing.name
        numbers[thing.name] += 1
        return f"{thing.name} {numbers[thing.name]}" if several[thing.name] > 1 else thing.name

    return [bounded(name(thing)) for thing in things], [bounded(thing.name) for thing in things]
