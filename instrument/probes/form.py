"""How bytecode runs a probe, chosen per interpreter by measurement.

Invariant: a probe leaves the stack as it was, raises nothing, takes no frame, and shows no event to trace functions or tools of
`sys.monitoring` that they did not see without it (but those for each single instruction, which no inserted code can hide from).

    3.11          LOAD_CONST probe; FOR_ITER +0          an iterator that is always at its end is popped: nothing to push
    3.12, 3.13    LOAD_CONST probe; UNARY_INVERT; POP_TOP
    of an UNWIND  COPY 1; LOAD_CONST probe; CONTAINS_OP; POP_TOP    `error in probe`: it is told the exception

From 3.12 on FOR_ITER has an inline cache that it counts down in, wants an END_FOR after it, and is a BRANCH to tools. The other
instructions that consume a constant and push nothing cost more: a conditional jump tests for True, False and None first (and is
a BRANCH too), DELETE_ATTR interns the name, UNPACK_SEQUENCE asks for an iterator. docs/recording.md has the numbers.
"""

from __future__ import annotations

from clew.instrument.probes.instructions import CONTAINS_OP, COPY, FOR_ITER, POP_TOP, UNARY_INVERT, VERSION, encode
from clew.records.event import Kind

_AS_ITERATOR = encode(FOR_ITER)
_INVERTED = encode(UNARY_INVERT) + encode(POP_TOP)
_COPIED, _CONTAINS = encode(COPY, 1), encode(CONTAINS_OP) + encode(POP_TOP)


def around_load(probe: object, load: bytes) -> bytes:
    """The code that runs `probe`, which `load` pushes. A probe that is no iterator is inverted everywhere."""
    if is_told(probe):
        return _COPIED + load + _CONTAINS
    return load + (_AS_ITERATOR if _iterates(probe) else _INVERTED)


def is_told(probe: object) -> bool:
    """Is it run with the exception on top of the stack, and told of it? It takes one more place there."""
    return getattr(probe, "kind", None) == Kind.UNWIND and hasattr(type(probe), "__contains__")


def pickled(probe: object) -> tuple[object, ...]:
    """What stands for `probe` in code that is pickled by value (cloudpickle does it): it must run where there is no clew."""
    if is_told(probe):
        return (tuple, ())
    return (iter, ((),)) if _iterates(probe) else (int, ())


def _iterates(probe: object) -> bool:
    return VERSION == (3, 11) and hasattr(type(probe), "__next__")
