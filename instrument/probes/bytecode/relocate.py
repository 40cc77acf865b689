"""Insert instructions into bytecode and preserve the target of every jump.

Invariant: code inserted *before* an instruction also runs when a jump reaches the instruction; code inserted *after*
an instruction runs only when that instruction has run.
"""

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from clew.instrument.probes.bytecode.line_table import Inserted
from clew.instrument.probes.bytecode.opcodes import BACKWARD_JUMPS, CACHES, EXTENDED_ARG, Instruction, prefixes
from clew.records.fast_namedtuple import NamedTuple


class Insertion(NamedTuple):
    order: int
    """2 * unit: before the instruction at `unit`. 2 * unit - 1: after the instruction that ends there."""
    data: bytes
    like: int
    """The unit whose source location the code gets; -1 for no location."""


def before(instruction: Instruction, data: bytes) -> Insertion:
    return Insertion(2 * instruction.start, data, instruction.start)


def after(instruction: Instruction, data: bytes, *, located: bool) -> Insertion:
    return Insertion(2 * (instruction.unit + CACHES[instruction.opcode]) + 1, data, instruction.unit if located else -1)


class Layout:
    """Bytecode after insertions (sorted by `order`); `data` is the new bytecode, which callers may patch."""

    def __init__(self, bytecode: bytes, insertions: Sequence[Insertion], jumps: Sequence[Instruction]) -> None:
        grown: dict[int, int] = {}
        while True:
            self._place(insertions, jumps, grown)
            args = []
            fits = True
            for index, jump in enumerate(jumps):
                base, target = self.instruction(jump.start) + jump.jump_base - jump.start, self.target(jump.jump_target)
                arg = base - target if jump.opcode in BACKWARD_JUMPS else target - base
                missing = prefixes(arg) - (jump.unit - jump.start)
                if missing > grown.get(index, 0):
                    grown[index] = missing
                    fits = False
                args.append(arg)
            if fits:
                break
        pieces: list[bytes] = []
        copied = 0
        for order, data, _ in self.insertions:
            at = order + 1 & ~1  # in bytes: twice the unit
            pieces += (bytecode[copied:at], data)
            copied = at
        pieces.append(bytecode[copied:])
        self.data = bytearray().join(pieces)
        for index, (jump, arg) in enumerate(zip(jumps, args, strict=True)):
            unit = self.instruction(jump.start) + jump.unit - jump.start
            for back in range(jump.unit - jump.start + grown.get(index, 0) + 1):
                self.data[2 * (unit - back) + 1] = arg >> 8 * back & 0xFF

    def _place(self, insertions: Sequence[Insertion], jumps: Sequence[Instruction], grown: dict[int, int]) -> None:
        self.insertions = list(insertions)
        if grown:
            prefix = bytes((EXTENDED_ARG, 0))
            self.insertions += [before(jumps[index], prefix * count) for index, count in grown.items()]
            self.insertions.sort(key=lambda insertion: insertion.order)
        self._orders = [insertion.order for insertion in self.insertions]
        self._shifts = [0, *itertools.accumulate(len(insertion.data) // 2 for insertion in self.insertions)]

    def target(self, unit: int) -> int:
        """Return the new target of a jump to `unit`, which includes the code inserted before that instruction."""
        return unit + self._shifts[bisect_left(self._orders, 2 * unit)]

    def instruction(self, unit: int) -> int:
        """Return the new position of the instruction at `unit`, past the code inserted before it."""
        return unit + self._shifts[bisect_right(self._orders, 2 * unit)]

    def inserted(self) -> list[Inserted]:
        return [Inserted((order + 1) // 2, len(data) // 2, like) for order, data, like in self.insertions]
