"""What can be wrong with the parts that many statements have: patterns and rates."""

from __future__ import annotations

from collections.abc import Iterator

from clew.esl.ast import Clause, Filter, Pattern
from clew.esl.problem import EslProblem, error, listing
from clew.esl.span import Span
from clew.esl.words import RATES


def check_pattern(pattern: Pattern) -> Iterator[EslProblem]:
    yield from _glob(pattern.text, pattern.span)
    yield from check_filters(pattern.filters)


def _glob(text: str, span: Span) -> Iterator[EslProblem]:
    if "***" in text:
        yield error("`*` stays inside one dotted part and `**` crosses dots; there is no `***`", span)


def check_filters(filters: tuple[Filter, ...]) -> Iterator[EslProblem]:
    seen: set[str] = set()
    for each in filters:
        kind = "decorated by" if each.word.text == "decorated by" else each.word.text[:2]
        if kind in seen:
            message = f"`{each.word.text}` is said twice, or with another word for the same; name all in one list"
            yield error(message, each.word.span)
        seen.add(kind)
        for name in each.names:
            yield from _glob(name.text, name.span)
            module, colon, owner = name.text.partition(":")
            if kind == "decorated by" and colon:
                message = "a decorator is a dotted name, as behind its `@`; for other functions write another statement"
                yield error(message, name.span, f"{module}.{owner}")
            elif kind != "decorated by" and not colon:
                module, dot, owner = module.rpartition(".")
                fix = f"{module}:{owner}" if dot else ""
                hint = f"write `{fix}`" if fix else "write `module:Class`"
                yield error(f"a colon stands between a class's module and its name; {hint}", name.span, fix)


def check_rate(clause: Clause) -> Iterator[EslProblem]:
    number, unit = clause.number, clause.unit
    if number is not None and (not number.text.isdigit() or not int(number.text[:9]) >= 1 or len(number.text) > 9):
        yield error("this is a whole number, from 1 on; to record nothing, remove the statement", number.span)
    if unit is not None and unit.text not in RATES:
        near = {"sec": "s", "second": "s", "m": "min", "minute": "min", "hour": "h"}.get(unit.text, "")
        hint = f"; did you mean `{near}`?" if near else f"; there are {listing(tuple(RATES), 'and')}"
        yield error(f"`{unit.text}` is nothing to count by{hint}", unit.span, near)
