"""Make the probes that record which objects a function changes, and which objects it gets and reads."""

from __future__ import annotations

import copyreg
import operator
from functools import lru_cache
from types import CodeType
from typing import Any
from zlib import crc32

from clew.instrument.probes import sites
from clew.instrument.probes.bytecode.rewrite import GivenProbe, StateProbes, WriteProbe
from clew.instrument.probes.bytecode.write_places import given, places
from clew.instrument.recorder import redaction
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.states import CLOSURE, GLOBAL, ITEM, METHOD, SETATTR, Form


def state_probes(code: CodeType, module: str, file: str) -> StateProbes | None:
    """Return the probes of a function; None if it neither changes nor reads the state of an object."""
    _register_pickling()
    redact = redaction.current()
    line_sites: dict[int, int] = {}

    def site(line: int) -> int:
        if line not in line_sites:
            line_sites[line] = sites.register(module, code.co_qualname, file, line, line, "line")
        return line_sites[line]

    writes = tuple(
        WriteProbe(
            place,
            core.Write(
                place.form,
                site(place.line),
                intern(_channel(place.form, place.name)),
                crc32(f"{module}.{place.name}".encode()) << 16,
                redact.hides(place.name) or (place.name == SETATTR and redact.on),
                not redact.on,
            ),
        )
        for place in places(code)
    )
    objects = tuple(
        GivenProbe(
            found,
            core.Write(
                Form.GIVEN,
                site(code.co_firstlineno),
                intern(f"{CLOSURE}{found.name}" if found.is_closure else found.name),
                0,
                False,
                False,
            ),
        )
        for found in given(code)
    )
    return StateProbes(writes, objects) if writes or objects else None


def _channel(form: Form, name: str) -> str:
    match form:
        case Form.ITEM:
            return ITEM
        case Form.METHOD:
            return METHOD + name
        case Form.VARIABLE:
            return GLOBAL + name
        case Form.CLOSURE:
            return CLOSURE + name
        case _:
            return name


class _Unrecorded:
    """Pickles as an object that takes every assignment and deletion of an item, in processes without clew."""

    def __reduce__(self) -> tuple[object, ...]:
        ignore = "".format
        return type, ("Unrecorded", (), {"__setitem__": ignore, "__delitem__": ignore})


def _pickled(_: object) -> tuple[Any, ...]:
    return operator.call, (_Unrecorded(),)


@lru_cache(1)
def _register_pickling() -> None:
    copyreg.pickle(core.Write, _pickled)
