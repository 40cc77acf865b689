"""Interned strings: the trace contains a name once, and records refer to it by number.

Invariant: a name keeps its number for the life of the process, including forked children. This module takes no lock,
because a signal handler or a probe may interrupt it anywhere. It uses an atomic counter and an atomic `setdefault`.
"""

from __future__ import annotations

import itertools

from clew.instrument.recorder.core import core
from clew.records.format.event import Kind

_numbers: dict[str, int] = {}
_next = itertools.count(1)


def intern(name: str) -> int:
    """Return the number of `name`, from 1, and define it in the trace at its first use."""
    number = _numbers.get(name)
    if number is None:
        if type(name) is not str:
            name = str.__str__(name)  # a subclass may override comparison and hashing
        fresh = next(_next)
        number = _numbers.setdefault(name, fresh)
        if number == fresh:
            core.define(Kind.STRING, number, name.encode("utf-8", "surrogatepass"))
    return number


def define_all() -> None:
    """Write every name to a trace that has just begun."""
    for name, number in list(_numbers.items()):
        core.define(Kind.STRING, number, name.encode("utf-8", "surrogatepass"))
