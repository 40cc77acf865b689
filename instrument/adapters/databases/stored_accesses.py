"""Record reads and writes of states outside of the process: rows of databases, and keys of servers.

Only plans with `writes` record them. Invariant: nothing is asked of a database or a server for it.
"""

from __future__ import annotations

from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import MAX_TEXT, Kind
from clew.records.format.stored_states import Access, dumped

_on: list[bool] = [False]


def install(on: bool) -> None:
    """Record accesses from now on, or do not any more."""
    if on:
        from clew.instrument.adapters.databases import sqlite_rows

        sqlite_rows.install()
    _on[0] = on


def is_on() -> bool:
    return _on[0] and core.active()


def record(channel: str, key: int, access: Access, site: int) -> None:
    """Record an access at the line of the program that runs, or at `site` if there is none."""
    text = dumped(access)
    if len(text) > MAX_TEXT:
        text = dumped(access._replace(row={}, exact=False, values={}, columns=()))
    core.emit(Kind.ACCESS, core.stack_site() or site, key, intern(channel), text)
