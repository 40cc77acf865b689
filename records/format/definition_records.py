"""Decode chunks of definitions and counters: sites, strings, threads, strands, notes, counted calls.

Invariant: an undecodable definition affects only itself; `False` or a place reports it.
"""

from __future__ import annotations

import json
from typing import Any, TypeVar

from clew.records.format.event import Extension, Kind, SiteInfo
from clew.records.read.process_records import Note, ProcessRecords, StrandInfo, ThreadRecords

_T = TypeVar("_T")

MAX_NS = (1 << 62) - 1
"""Maximum difference of times, 140 years; it fits a signed 64-bit number."""
MAX_COUNT = (1 << 48) - 1
_NUMBERED = frozenset({Kind.SITE, Kind.STRING, Kind.THREAD})
"""Definitions whose keys are the 32-bit numbers, from 1, in records and chunks."""
_NUMBERS = 1 << 32


def thread_of(found: ProcessRecords, serial: int) -> ThreadRecords:
    return found.threads.setdefault(serial, ThreadRecords(serial))


def define(found: ProcessRecords, notes: dict[Note, None], kind: int, definition: Extension) -> bool:
    """Store a definition; return False when it is not understood."""
    key, text = definition.key, definition.text
    if kind in _NUMBERED and not 0 < key < _NUMBERS:
        return False
    if kind == Kind.STRING:
        found.strings[key] = text
        return True
    if kind == Kind.NOTE:
        notes[Note(key, text)] = None
        return True
    try:
        fields = json.loads(text)
        if kind == Kind.SITE:
            found.sites[key] = _site(key, fields)
        elif kind == Kind.THREAD:
            name, native_id = _checked(fields, "name", str, ""), _number(fields, "native_id", most=MAX_NS)
            daemon = _checked(fields, "daemon", bool, False)
            thread = thread_of(found, key)
            thread.name, thread.native_id, thread.daemon = name, native_id, daemon
        elif kind == Kind.STRAND:
            name, home = _checked(fields, "name", str, ""), _number(fields, "thread")
            found.strands[key] = StrandInfo(_checked(fields, "kind", str, ""), name, home)
        else:
            return False
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    return True


def count(found: ProcessRecords, data: memoryview) -> int:
    """Add up the counters of a chunk; return the number of damaged ones."""
    numbers = data[: len(data) // 16 * 16].cast("Q")
    damaged = 0
    for place in range(0, len(numbers), 2):
        site, calls = numbers[place], numbers[place + 1]
        if not site:
            break
        if site >= _NUMBERS or calls > MAX_COUNT:
            damaged += 1
        else:
            found.counters[site] = found.counters.get(site, 0) + calls
    return damaged


def _checked(fields: Any, name: str, kind: type[_T], missing: _T) -> _T:
    value = fields.get(name, missing) if isinstance(fields, dict) else None
    if type(value) is not kind:
        raise TypeError(name)
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()  # type: ignore[return-value]  # a str for a str
    return value


def _number(fields: Any, name: str, missing: int = 0, least: int = 0, most: int = _NUMBERS - 1) -> int:
    value = _checked(fields, name, int, missing)
    if not least <= value <= most:
        raise ValueError(name)
    return value


def _site(key: int, fields: Any) -> SiteInfo:
    return SiteInfo(
        id=key,
        module=_checked(fields, "module", str, ""),
        qualname=_checked(fields, "qualname", str, ""),
        file=_checked(fields, "file", str, ""),
        line=_number(fields, "line"),
        end_line=_number(fields, "end_line"),
        kind=_checked(fields, "kind", str, ""),
        rule=_number(fields, "rule", -1, least=-1),
        modified=_number(fields, "modified", most=MAX_NS),
        size=_number(fields, "size", most=MAX_NS),
    )
