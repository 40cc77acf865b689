"""Check the parts that many statements share: patterns and rates."""

from __future__ import annotations

from collections.abc import Iterator

from clew.esl.syntax.ast import Clause, Filter, Pattern
from clew.esl.syntax.keywords import RATES
from clew.esl.syntax.problem import EslProblem, error, listing
from clew.esl.syntax.span import Span


def check_pattern(pattern: Pattern) -> Iterator[EslProblem]:
    yield from _glob(pattern.text, pattern.span)
    yield from check_filters(pattern.filters)


def _glob(text: str, span: Span) -> Iterator[EslProblem]:
    if "***" in text:
        yield error("unknown wildcard `***`; `*` matches inside one dotted part, `**` matches across dots", span)


def check_filters(filters: tuple[Filter, ...]) -> Iterator[EslProblem]:
    seen: set[str] = set()
    for each in filters:
        kind = "decorated by" if each.word.text == "decorated by" else each.word.text[:2]
        if kind in seen:
            message = f"`{each.word.text}` is given twice, or together with an equivalent filter; name all in one list"
            yield error(message, each.word.span)
        seen.add(kind)
        for name in each.names:
            yield from _glob(name.text, name.span)
            module, colon, owner = name.text.partition(":")
            if kind == "decorated by" and colon:
                message = "a decorator is a dotted name, as after its `@`; use another statement for other functions"
                yield error(message, name.span, f"{module}.{owner}")
            elif kind != "decorated by" and not colon:
                module, dot, owner = module.rpartition(".")
                fix = f"{module}:{owner}" if dot else ""
                hint = f"write `{fix}`" if fix else "write `module:Class`"
                yield error(f"a class is written as module, colon, name; {hint}", name.span, fix)


def check_rate(clause: Clause) -> Iterator[EslProblem]:
    number, unit = clause.number, clause.unit
    if number is not None and (not number.text.isdigit() or not int(number.text[:9]) >= 1 or len(number.text) > 9):
        yield error("expected a whole number of at least 1; remove the statement to record nothing", number.span)
    if unit is not None and unit.text not in RATES:
        near = {"sec": "s", "second": "s", "m": "min", "minute": "min", "hour": "h"}.get(unit.text, "")
        hint = f"; did you mean `{near}`?" if near else f"; expected {listing(tuple(RATES), 'or')}"
        yield error(f"unknown time unit `{unit.text}`{hint}", unit.span, near)
