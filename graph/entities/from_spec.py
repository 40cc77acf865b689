"""Read the events that the `entity` rules of a spec recorded.

An object is identified by the `unique` value of its class in all processes, else by its address in its own process. A plain
value identifies the object with this `unique` value. If objects of several classes have it, the class most frequent in events
of the same rule wins.
Invariant: each distinct text is parsed once. An event that cannot be read is counted and left out.
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
from clew.graph.model.text_templates import from_templates
from clew.graph.runtime.arrow_arrays import from_texts, to_numbers
from clew.records.format.event import FLAG_FAILED, FLAG_TRUNCATED, Kind

_HAPPENINGS = {
    "position": (Happening.POSITION, (1, 2)),
    "deletion": (Happening.DELETION, (1,)),
    "communication": (Happening.COMMUNICATION, (2,)),
}
"""Event names, with their kind and the numbers of values they may have."""
_STRING = r'"(?:[^"\\]|\\.)*"'
_VALUE = rf'\{{(?:[^"{{}}]|{_STRING})*\}}|{_STRING}|[^",\[\]{{}}]+'
_EVENT = (
    rf'^\{{"event": ?"(?P<event>[a-z]*)", ?"entity": ?(?P<rule>{_STRING}), ?"values": ?\['
    rf"(?P<first>{_VALUE})(?:, ?(?P<other>{_VALUE}))?\]\}}$"
)
"""The text that the recorder writes (`Kind.ENTITY`)."""


class _Object(NamedTuple):
    """The identity of an entity. If its address is not needed, `process` is -1 and `id` is 0.

    The class `name` of a plain value is "".
    """

    name: str
    unique: str
    process: int = -1
    id: int = 0


class _Parsed(NamedTuple):
    """Parsed texts, by text: the happening (0 if unreadable), and indices into `rules` and `values` or -1."""

    happening: I64
    rule: I64
    first: I64
    other: I64
    rules: list[str]
    values: list[str]

    def at(self, texts: I64) -> _Parsed:
        happening, rule, first, other = (part[texts] for part in (self.happening, self.rule, self.first, self.other))
        return self._replace(happening=happening, rule=rule, first=first, other=other)


def recorded(graph: ExecutionGraph) -> EntityEvents | None:
    """Return the recorded entity events, or None if the run has none."""
    rows = graph.rows_of([Kind.ENTITY])
    if not len(rows):
        return None
    rows = rows[np.argsort(graph.ts[rows], kind="stable")]
    ext = graph.ext[rows].astype(np.int64)
    whole = ext >= 0
    whole[whole] = (graph.extensions.flags[ext[whole]] & (FLAG_FAILED | FLAG_TRUNCATED)) == 0
    rows, ext, events = rows[whole], ext[whole], len(rows)
    codes, texts = _texts(graph, ext)
    parsed, of, process = _parsed(texts), codes, np.zeros(len(texts), np.int64)
    if len(graph.processes) > 1:
        # The same address is another object in another process.
        where = graph.strand_process[graph.strand[rows]].astype(np.int64)
        pairs, of = np.unique(codes * len(graph.processes) + where, return_inverse=True)
        parsed, process = parsed.at(pairs // len(graph.processes)), pairs % len(graph.processes)
    objects, first, other = _objects(parsed, process, np.bincount(of, minlength=len(process)))
    complete = (first[of] >= 0) & ((other[of] >= 0) | (parsed.other[of] < 0))
    rows, ext, of = rows[complete], ext[complete], of[complete]
    a, b, order = numbered(first[of], other[of], len(objects))
    names, classes = _called([objects[number] for number in order])
    kind, channel = parsed.happening[of].astype(np.uint8), graph.extensions.channel[ext].astype(np.uint32)
    return EntityEvents(graph.ts[rows], kind, a, b, rows, channel, names, classes, events - len(rows))


def _texts(graph: ExecutionGraph, ext: I64) -> tuple[I64, pa.Array]:
    """Return a code for the text of each extension, and the distinct texts."""
    order = np.argsort(ext, kind="stable")
    ordered = ext[order]
    codes, known = np.empty(len(ext), np.int64), [from_texts(())]
    for first, part in graph.extensions.texts.parts():
        low, high = np.searchsorted(ordered, [first, first + len(part.template)])
        if low == high:
            continue
        mine = order[low:high]
        encoded = from_templates(part, ext[mine] - first).dictionary_encode()
        codes[mine] = to_numbers(encoded.indices) + sum(map(len, known))
        known.append(encoded.dictionary)
    # Parts can have texts in common.
    together = pa.concat_arrays(known).dictionary_encode()
    return to_numbers(together.indices).astype(np.int64)[codes], together.dictionary


def _parsed(texts: pa.Array) -> _Parsed:
    found = pc.extract_regex(texts, _EVENT)
    event, _ = _coded([pc.struct_field(found, "event")], _HAPPENINGS)
    rule, rules = _coded([pc.struct_field(found, "rule")])
    values, distinct = _coded([pc.struct_field(found, "first"), pc.struct_field(found, "other")])
    first, other = np.split(values, 2)
    # An absent second value is an empty text.
    other = np.where(other == (distinct.index("") if "" in distinct else -2), -1, other)
    # A container of None means a position outside any container.
    positions = event == list(_HAPPENINGS).index("position")
    other = np.where(positions & (other == (distinct.index("null") if "null" in distinct else -2)), -1, other)
    many = 1 + (other >= 0)
    happening = np.zeros(len(texts), np.int64)
    for code, (one, counts) in enumerate(_HAPPENINGS.values()):
        happening[(event == code) & np.isin(many, counts)] = one
    return _Parsed(happening, rule, first, other, rules, distinct)


def _coded(columns: list[pa.Array], known: Iterable[str] = ()) -> tuple[I64, list[str]]:
    """Encode concatenated columns of texts as codes, -1 for null; return the codes and the texts, `known` first."""
    first = from_texts(known)
    encoded = pa.concat_arrays([first, *columns]).dictionary_encode()
    codes = to_numbers(pc.fill_null(encoded.indices, -1)).astype(np.int64)[len(first) :]
    return codes, encoded.dictionary.to_pylist()


def _objects(parsed: _Parsed, process: I64, times: I64) -> tuple[list[_Object], I64, I64]:
    """Return the distinct objects, and the indices of each text's first and other object; -1 if unreadable.

    `times` is the number of events per text.
    """
    readable = parsed.happening > 0
    first, other = np.where(readable, parsed.first, -1), np.where(readable, parsed.other, -1)
    rules, processes = max(1, len(parsed.rules)), int(process.max(initial=0)) + 1
    key = (np.concatenate((first, other)) * rules + np.tile(parsed.rule, 2)) * processes + np.tile(process, 2)
    key[np.concatenate((first, other)) < 0] = -1
    keys, of = np.unique(key, return_inverse=True)
    occurrences = np.bincount(of, weights=np.tile(times, 2), minlength=len(keys)).astype(np.int64).tolist()
    values = [_value(text) for text in parsed.values]
    requested = [
        (values[one // processes // rules], one // processes % rules, one % processes) for one in keys.tolist()
    ]
    mentions: Counter[tuple[int, str]] = Counter()
    classes: dict[str, set[str]] = {}
    for (thing, rule, _), count, one in zip(requested, occurrences, keys.tolist(), strict=True):
        if one >= 0 and thing and thing.name and not thing.id:
            classes.setdefault(thing.unique, set()).add(thing.name)
            mentions[rule, thing.name] += count
    numbers: dict[_Object, int] = {}
    meant = np.full(len(keys), -1, np.int64)
    for place, ((thing, rule, where), one) in enumerate(zip(requested, keys.tolist(), strict=True)):
        if one < 0 or thing is None:
            continue
        named = thing
        if thing.id:
            named = thing._replace(process=where)
        elif not thing.name and (among := classes.get(thing.unique)):
            _, name = max((mentions[rule, name], name) for name in among)
            named = thing._replace(name=name)
        meant[place] = numbers.setdefault(named, len(numbers))
    found = np.split(meant[of], 2)
    return list(numbers), found[0], found[1]


def _value(text: str) -> _Object | None:
    """Return the object of a value, or None if it cannot be read."""
    try:
        value = json.loads(text)
        if not isinstance(value, dict):
            return _Object("", value if isinstance(value, str) else repr(value))
        if "unique" in value:
            return _Object(str(value["class"]), str(value["unique"]))
        return _Object(str(value["class"]), "", 0, int(value["id"]))
    except (ValueError, KeyError, TypeError):
        return None


def _called(objects: list[_Object]) -> tuple[list[str], list[str]]:
    """Return names and classes. Objects without a name get that of their class, numbered if there are several."""
    several = Counter(thing.name for thing in objects if thing.process >= 0)
    numbers: Counter[str] = Counter()

    def name(thing: _Object) -> str:
        if thing.process < 0:
            return thing.unique or thing.name
        numbers[thing.name] += 1
        return f"{thing.name} {numbers[thing.name]}" if several[thing.name] > 1 else thing.name

    return [bounded(name(thing)) for thing in objects], [bounded(thing.name) for thing in objects]
