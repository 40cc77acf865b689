"""Interned strings: a name is written to the trace once, records hold its number.

Invariant: a name keeps its number for the life of the process, forked children included. There is no lock, because a
signal handler or a probe may come in anywhere: numbers are taken from an atomic counter and an atomic `setdefault`.
"""

from __future__ import annotations

import itertools

from clew.instrument.recorder.core import core
from clew.records.format.event import Kind

_numbers: dict[str, int] = {}
_next = itertools.count(1)


def intern(name: str) -> int:
    """The number of `name`, from 1; defined in the trace at its first use."""
    number = _numbers.get(name)
    if number is None:
        if type(name) is not str:
            name = str.__str__(name)  # a subclass may compare and hash as it likes
        fresh = next(_next)
        number = _numbers.setdefault(name, fresh)
        if number == fresh:
            core.define(Kind.STRING, number, name.encode("utf-8", "surrogatepass"))
    return number


def define_all() -> None:
    """Writes every name to a trace that has just begun."""
    for name, number in list(_numbers.items()):
        core.define(Kind.STRING, number, name.encode("utf-8", "surrogatepass"))
