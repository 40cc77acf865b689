"""What can be wrong with the parts that many statements have: patterns and rates."""

from __future__ import annotations

from collections.abc import Iterator

from clew.esl.ast import Clause, Pattern
from clew.esl.problem import EslProblem, error, listing
from clew.esl.words import RATES


def check_pattern(pattern: Pattern) -> Iterator[EslProblem]:
    for part in (pattern.module, pattern.qualname or ""):
        if "***" in part:
            yield error("`*` stays inside one dotted part and `**` crosses dots; there is no `***`", pattern.span)
            return


def check_rate(clause: Clause) -> Iterator[EslProblem]:
    number, unit = clause.number, clause.unit
    if number is not None and (not number.text.isdigit() or not int(number.text[:9]) >= 1 or len(number.text) > 9):
        yield error("this is a whole number, from 1 on; to record nothing, remove the statement", number.span)
    if unit is not None and unit.text not in RATES:
        near = {"sec": "s", "second": "s", "m": "min", "minute": "min", "hour": "h"}.get(unit.text, "")
        hint = f"; did you mean `{near}`?" if near else f"; there are {listing(tuple(RATES), 'and')}"
        yield error(f"`{unit.text}` is nothing to count by{hint}", unit.span, near)
