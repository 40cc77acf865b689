"""Encode the instructions that run a probe, chosen for each interpreter version by measurement.

Invariant: a probe leaves the stack unchanged, never raises, needs no frame, and causes no additional event for trace
functions or tools of `sys.monitoring`. Only events for every single instruction include inserted code.

    3.11          LOAD_CONST probe; FOR_ITER +0          pops the probe, an exhausted iterator; pushes nothing
    3.12, 3.13    LOAD_CONST probe; UNARY_INVERT; POP_TOP
    UNWIND        COPY 1; LOAD_CONST probe; CONTAINS_OP; POP_TOP    `error in probe`: the probe gets the exception

Since 3.12, FOR_ITER counts down in an inline cache, needs a following END_FOR, and is a BRANCH event for tools. The
other instructions that consume a constant and push nothing cost more. A conditional jump first tests for True, False
and None (and is also a BRANCH event), DELETE_ATTR interns the name, and UNPACK_SEQUENCE requests an iterator.
docs/recording.md lists the measurements.
"""

from __future__ import annotations

from clew.instrument.probes.bytecode.opcodes import (
    CONTAINS_OP,
    COPY,
    FOR_ITER,
    POP_TOP,
    UNARY_INVERT,
    VERSION,
    encode,
)
from clew.records.format.event import Kind

_AS_ITERATOR = encode(FOR_ITER)
_INVERTED = encode(UNARY_INVERT) + encode(POP_TOP)
_COPIED, _CONTAINS = encode(COPY, 1), encode(CONTAINS_OP) + encode(POP_TOP)


def around_load(probe: object, load: bytes) -> bytes:
    """Return the code that runs `probe`, which `load` pushes. All versions invert a probe that is not an iterator."""
    if takes_exception(probe):
        return _COPIED + load + _CONTAINS
    return load + (_AS_ITERATOR if _iterates(probe) else _INVERTED)


def takes_exception(probe: object) -> bool:
    """Return whether the probe runs with the exception on top of the stack. It needs one more stack entry."""
    return getattr(probe, "kind", None) == Kind.UNWIND and hasattr(type(probe), "__contains__")


def pickled(probe: object) -> tuple[object, ...]:
    """Return the replacement of `probe` in code pickled by value (as by cloudpickle).

    The replacement must run in processes without clew.
    """
    if takes_exception(probe):
        return (tuple, ())
    return (iter, ((),)) if _iterates(probe) else (int, ())


def _iterates(probe: object) -> bool:
    return VERSION == (3, 11) and hasattr(type(probe), "__next__")
