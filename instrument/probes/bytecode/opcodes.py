"""Describe the instruction set of the running interpreter, limited to the parts that a rewrite needs.

Positions are in *units* (2 bytes: opcode and argument). Invariant: an instruction consists of its EXTENDED_ARG
prefixes, its own unit and its inline caches; the position of an instruction is the position of its first prefix.
"""

import opcode
import re
import sys
from collections.abc import Iterator
from types import CodeType

from clew.records.fast_namedtuple import NamedTuple

VERSION = sys.version_info[:2]
SUPPORTED = VERSION in ((3, 11), (3, 12), (3, 13))
"""True for interpreters whose code layout this module supports."""

# Importing `inspect` for these constants would take several milliseconds.
CO_OPTIMIZED, CO_NEWLOCALS, CO_VARARGS, CO_VARKEYWORDS = 0x1, 0x2, 0x4, 0x8
CO_GENERATOR, CO_COROUTINE, CO_ASYNC_GENERATOR = 0x20, 0x80, 0x200

_OPCODES = opcode.opmap
EXTENDED_ARG = _OPCODES["EXTENDED_ARG"]
LOAD_CONST = _OPCODES["LOAD_CONST"]
LOAD_FAST = _OPCODES["LOAD_FAST"]
STORE_FAST = _OPCODES["STORE_FAST"]
STORE_ATTR = _OPCODES["STORE_ATTR"]
STORE_SUBSCR = _OPCODES["STORE_SUBSCR"]
LOAD_DEREF = _OPCODES["LOAD_DEREF"]
LOAD_CLOSURE = _OPCODES["LOAD_CLOSURE"] if _OPCODES["LOAD_CLOSURE"] < 256 else LOAD_FAST
UNARY_INVERT = _OPCODES["UNARY_INVERT"]
POP_TOP = _OPCODES["POP_TOP"]
FOR_ITER = _OPCODES["FOR_ITER"]
PUSH_NULL = _OPCODES["PUSH_NULL"]
COPY = _OPCODES["COPY"]
PRECALL = _OPCODES.get("PRECALL", -1)
CALL = _OPCODES["CALL"]
RERAISE = _OPCODES["RERAISE"]
RESUME = _OPCODES["RESUME"]
RETURN_VALUE = _OPCODES["RETURN_VALUE"]
RETURN_CONST = _OPCODES.get("RETURN_CONST", -1)
YIELD_VALUE = _OPCODES["YIELD_VALUE"]
SEND = _OPCODES["SEND"]
JUMP_FORWARD = _OPCODES["JUMP_FORWARD"]
DELETE_FAST = _OPCODES["DELETE_FAST"]
DELETE_SUBSCR = _OPCODES["DELETE_SUBSCR"]
CONTAINS_OP = _OPCODES["CONTAINS_OP"]

JUMPS = frozenset(number for number in {*opcode.hasjrel, *getattr(opcode, "hasjump", ())} if number < 256)
BACKWARD_JUMPS = frozenset(number for name, number in _OPCODES.items() if "JUMP_BACKWARD" in name and number < 256)


def _cache_units() -> bytes:
    entries = opcode._inline_cache_entries  # type: ignore[attr-defined]  # private, but the only source of these counts
    units = bytearray(256)
    named = entries.items() if isinstance(entries, dict) else ((opcode.opname[i], n) for i, n in enumerate(entries))
    for name, count in named:
        if _OPCODES.get(name, 256) < 256:
            units[_OPCODES[name]] = count
    return bytes(units)


CACHES = _cache_units()
"""Number of inline cache units that follow each opcode."""

# Caches have opcode 0 in `co_code`, so a search over the opcode bytes finds only instructions.
_CACHE_OPCODE = 0
_INTERESTING = re.compile(
    b"["
    + b"".join(
        re.escape(bytes((number,)))
        for number in sorted({*JUMPS, RETURN_VALUE, RETURN_CONST, YIELD_VALUE, RESUME, DELETE_FAST} - {-1})
        if number != _CACHE_OPCODE
    )
    + b"]"
)


class Instruction(NamedTuple):
    start: int
    """The first unit, including prefixes."""
    unit: int
    """The unit that holds the opcode."""
    opcode: int
    arg: int

    @property
    def jump_base(self) -> int:
        """The unit that a relative jump is relative to."""
        return self.unit + 1 + CACHES[self.opcode]

    @property
    def jump_target(self) -> int:
        return self.jump_base + (-self.arg if self.opcode in BACKWARD_JUMPS else self.arg)


def scan(bytecode: bytes) -> Iterator[Instruction]:
    """Yield the jumps, returns, yields, resumes and deletions of locals in `bytecode` (a `co_code`), in order."""
    opcodes, args = bytecode[::2], bytecode[1::2]
    for match in _INTERESTING.finditer(opcodes):
        start = unit = match.start()
        arg, shift = args[unit], 8
        while start and opcodes[start - 1] == EXTENDED_ARG:
            start -= 1
            arg |= args[start] << shift
            shift += 8
        yield Instruction(start, unit, opcodes[unit], arg)


_STORE_FAST_LOAD_FAST = _OPCODES.get("STORE_FAST_LOAD_FAST", -1)
_STORE_FAST_STORE_FAST = _OPCODES.get("STORE_FAST_STORE_FAST", -1)


def stores(code: CodeType, name: str) -> Iterator[Instruction]:
    """Yield the instructions that store into a local or an attribute called `name`, in order.

    Some instructions of 3.13 combine a store with a load or with another store.
    """
    local = code.co_varnames.index(name) if name in code.co_varnames else -1
    attribute = code.co_names.index(name) if name in code.co_names else -1
    bytecode = code.co_code
    unit = start = arg = 0
    while 2 * unit < len(bytecode):
        number, arg = bytecode[2 * unit], arg << 8 | bytecode[2 * unit + 1]
        if number == EXTENDED_ARG:
            unit += 1
            continue
        stored = (
            (number == STORE_ATTR and arg == attribute)
            or (number == STORE_FAST and arg == local)
            or (number == _STORE_FAST_LOAD_FAST and arg >> 4 == local)
            or (number == _STORE_FAST_STORE_FAST and local in (arg >> 4, arg & 15))
        )
        if stored:
            yield Instruction(start, unit, number, arg)
        unit += 1 + CACHES[number]
        start, arg = unit, 0


def prefixes(arg: int) -> int:
    """Return the number of EXTENDED_ARG prefixes that an argument needs."""
    return 0 if arg < 1 << 8 else 1 if arg < 1 << 16 else 2 if arg < 1 << 24 else 3


def encode(number: int, arg: int = 0) -> bytes:
    """Return one instruction with its prefixes and empty inline caches."""
    out = bytearray()
    for count in range(prefixes(arg), 0, -1):
        out += bytes((EXTENDED_ARG, arg >> 8 * count & 0xFF))
    out += bytes((number, arg & 0xFF))
    return bytes(out) + bytes(2 * CACHES[number])
