"""How many values are on a function's stack before each instruction. The compiler gives every instruction one depth.

CPython 3.12 and 3.13 do not write their stack pointer back before they report an instruction, so it cannot be read there.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Mapping, Sequence
from types import CodeType

from clew.instrument.probes.bytecode import exception_table

_ENDS = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"})
_ALWAYS_JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"})


def _effect(one: dis.Instruction, arg: int | None) -> int:
    if one.opname == "PRECALL":
        return 0  # the compiler of CPython 3.11 counts the arguments here; the interpreter takes them at the CALL
    if one.opname == "CALL" and sys.version_info < (3, 12):
        return -(arg or 0) - 1
    return dis.stack_effect(one.opcode, arg, jump=False)


def stack_depths(code: CodeType, instructions: Sequence[dis.Instruction], place_of: Mapping[int, int]) -> list[int]:
    """Return the depth before each instruction; -1 for one that cannot be reached. `place_of` has instructions by offset."""
    found = [-1] * len(instructions)
    handlers = []
    for entry in exception_table.parse(code.co_exceptiontable):
        # The handler finds the values below, where it was raised if that is wanted, and the exception.
        depth, has_position = divmod(entry.depth, 2)
        handlers.append((place_of.get(2 * entry.target, -1), depth + has_position + 1))
    # A generator begins with the value that is sent first, which some versions do not count as pushed by an instruction.
    makes = next((one for one in instructions if one.opname == "RETURN_GENERATOR"), None)
    begins = 1 if makes is not None and not dis.stack_effect(makes.opcode) else 0
    waiting = [(0, begins), *handlers]
    while waiting:
        place, depth = waiting.pop()
        while 0 <= place < len(instructions) and found[place] < 0:
            found[place] = depth
            one = instructions[place]
            arg = one.arg if one.opcode >= dis.HAVE_ARGUMENT else None
            if one.opcode in dis.hasjrel or one.opcode in dis.hasjabs:
                jumped = depth + dis.stack_effect(one.opcode, arg, jump=True)
                waiting.append((place_of.get(one.argval, -1), jumped))
            if one.opname in _ENDS or one.opname in _ALWAYS_JUMPS:
                break
            depth += _effect(one, arg)
            place += 1
    return found
