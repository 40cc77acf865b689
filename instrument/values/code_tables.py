"""The tables of a followed function: its instructions for the analysis, and what the tracer needs of them."""

from __future__ import annotations

import dis
import struct
from types import CodeType

from clew.instrument.values.opcode_pops import pops
from clew.instrument.values.stack_depths import stack_depths
from clew.records.values.trace_format import Code, Instruction

_CELLS = frozenset({
    "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF",
})  # fmt: skip
_READS_CELL, _YIELDS = 1, 2
_UNIT = 2
"""Bytes of a code unit."""
Tables = tuple[int, int, bytes, bytes, bytes, bytes, bytes, bytes]
"""The code's number, the number of its parameters, and per code unit, instruction or parameter what `steps.c` reads."""


def described(code: CodeType, number: int, module: str) -> tuple[Code, Tables]:
    """Return the two tables of a code object."""
    instructions: list[dis.Instruction] = []
    place_of: dict[int, int] = {}
    for one in dis.get_instructions(code):
        # A jump goes to the EXTENDED_ARG of an instruction.
        place_of[one.offset] = len(instructions)
        if one.opname not in ("EXTENDED_ARG", "CACHE"):
            instructions.append(one)
    rows = tuple(_row(one, place_of, code) for one in instructions)
    parameters = (
        code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)
    )  # *args, **kwargs
    names = (*code.co_varnames, *(name for name in code.co_cellvars if name not in code.co_varnames), *code.co_freevars)
    found = Code(
        code.co_filename,
        module,
        code.co_qualname,
        code.co_firstlineno,
        code.co_varnames,
        parameters,
        code.co_flags,
        rows,
    )
    units = [0] * (len(code.co_code) // _UNIT)
    place = 0
    for unit in range(len(units)):
        # An EXTENDED_ARG, a cache or an unknown unit belongs to the next instruction.
        while place < len(instructions) - 1 and instructions[place].offset < unit * _UNIT:
            place += 1
        units[unit] = place
    flags = bytes(
        (_READS_CELL if row.name in _CELLS else 0) | (_YIELDS if row.name == "YIELD_VALUE" else 0) for row in rows
    )
    cell_of = [names.index(row.text) if row.name in _CELLS and row.text in names else -1 for row in rows]
    tables = (
        number,
        parameters,
        struct.pack(f"={len(units)}i", *units),
        struct.pack(f"={len(rows)}H", *(min(row.pops, 0xFFFF) for row in rows)),
        flags,
        bytes(name in code.co_cellvars for name in code.co_varnames[:parameters]),
        struct.pack(f"={len(rows)}i", *cell_of),
        struct.pack(f"={len(rows)}i", *stack_depths(code, instructions, place_of)),
    )
    return found, tables


def _row(one: dis.Instruction, place_of: dict[int, int], code: CodeType) -> Instruction:
    at = one.positions
    line = at.lineno if at is not None and at.lineno is not None else 0
    arg = one.arg if one.arg is not None else -1
    is_jump = one.opcode in dis.hasjrel or one.opcode in dis.hasjabs
    text = one.argval if isinstance(one.argval, str) else one.argrepr if one.opname == "BINARY_OP" else ""
    if one.opname in ("LOAD_CONST", "RETURN_CONST", "KW_NAMES"):
        text = ""
    return Instruction(
        one.opname,
        arg,
        text,
        line,
        at.end_lineno or line if at is not None else line,
        at.col_offset if at is not None and at.col_offset is not None else -1,
        at.end_col_offset if at is not None and at.end_col_offset is not None else -1,
        place_of.get(one.argval, -1) if is_jump else -1,
        pops(one.opname, arg),
    )
