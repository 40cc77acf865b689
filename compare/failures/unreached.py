"""What did not run in a failed test and ran in most similar tests that passed: functions, and lines behind a branch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clew.compare.failures.look_evidence import FunctionKey, LookEvidence

MOST = 5
_SHARE = 0.5


@dataclass(frozen=True)
class Unreached:
    function: FunctionKey
    line: int
    """The first of the lines that did not run."""
    tests: int
    """How many similar passing tests ran it."""
    of: int
    """How many of them could have: all that were compared, or for lines of a function those that called it."""
    is_function: bool
    """Whether the function did not run at all."""


def unreached(look: LookEvidence, is_program: Callable[[str], bool], most: int = MOST) -> list[Unreached]:
    """Return what at least half of the passing tests ran, the nearest to the value first, then the one that most tests ran."""
    found = []
    for function, missed in look.missed.items():
        if not is_program(function[0]):
            continue
        ran = look.lines.get(function)
        if ran is None:
            line = min(missed)
            if not function[1].startswith("<"):
                found.append(Unreached(function, line, missed[line], look.passing, is_function=True))
            continue
        callers = max(one.passed for one in ran.values())
        found += [Unreached(function, line, missed[line], callers, is_function=False) for line in _firsts(missed, ran)]
    telling = [one for one in found if one.tests >= max(2, _SHARE * one.of)]
    return sorted(telling, key=lambda one: (_distance(look, one), -one.tests / one.of, one.function, one.line))[:most]


def _firsts(missed: Mapping[int, int], ran: Mapping[int, object]) -> list[int]:
    """Return the first line of each block of missed lines, between lines that ran."""
    firsts = []
    was_missed = False
    for line in sorted({*missed, *ran}):
        if line in missed and not was_missed:
            firsts.append(line)
        was_missed = line in missed
    return firsts


def _distance(look: LookEvidence, one: Unreached) -> float:
    return look.distances.functions.get(one.function, math.inf)
