"""Control dependence between the instructions of a function: which branches decided that an instruction ran.

An instruction depends on a branch if one way out of the branch always reaches it and another way can avoid it (Ferrante,
Ottenstein and Warren 1987). Exceptions are not edges here: code in a handler depends on the exception that it caught. A way
that raises does not count as avoiding what follows: code behind `if broken: raise` does not depend on that branch.
"""

from __future__ import annotations

from collections.abc import Sequence

from clew.records.values.trace_format import Instruction

_NO_WAY_ON = frozenset({"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"})
_RAISES = frozenset({"RAISE_VARARGS", "RERAISE"})
_ALWAYS_JUMPS = frozenset({"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP"})
_NO_BRANCH = frozenset({"SEND"})
"""Instructions that jump for the interpreter's own purposes, not for a decision of the program."""


def successors(instructions: Sequence[Instruction]) -> list[list[int]]:
    """Return, per instruction, the instructions that can run next."""
    found = []
    for at, one in enumerate(instructions):
        after = [one.jump] if one.jump >= 0 else []
        if one.name not in _NO_WAY_ON and one.name not in _ALWAYS_JUMPS and at + 1 < len(instructions):
            after.append(at + 1)
        found.append(after)
    return found


def branches_above(instructions: Sequence[Instruction]) -> list[tuple[int, ...]]:
    """Return, per instruction, the branches that it directly depends on, in order.

    Sets of instructions are integers with a bit for each, so the fixed point takes few operations even for long functions.
    """
    after = successors(instructions)
    count = len(instructions)
    everything = (1 << count) - 1
    behind = [everything] * count
    """Per instruction, the instructions that every way from it to an end passes (post-dominators)."""
    changed = True
    while changed:
        changed = False
        for at in range(count - 1, -1, -1):
            if instructions[at].name in _RAISES:
                continue
            common = everything if after[at] else 0
            for one in after[at]:
                common &= behind[one]
            common |= 1 << at
            if common != behind[at]:
                behind[at] = common
                changed = True
    above: list[list[int]] = [[] for _ in range(count)]
    for at in range(count):
        if len(after[at]) < 2 or instructions[at].name in _NO_BRANCH:
            continue
        reached = 0
        for one in after[at]:
            reached |= behind[one]
        # What every way from the branch passes does not depend on it, except the branch itself in a loop.
        reached &= ~(behind[at] & ~(1 << at))
        while reached:
            lowest = reached & -reached
            above[lowest.bit_length() - 1].append(at)
            reached ^= lowest
    return [tuple(one) for one in above]
