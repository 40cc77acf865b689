"""Packs that change nothing because another one that is included has all of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from clew.esl import packs
from clew.esl.ast import Include, Spec, Word
from clew.esl.parser import parse
from clew.esl.problem import EslProblem


@functools.cache
def contents(name: str) -> frozenset[str]:
    """What a pack includes, by name, at any depth; nothing for an adapter."""
    text = packs.shipped().get(name)
    found: set[str] = set()
    for statement in parse(text).tree.statements if text is not None else ():
        if isinstance(statement, Include):
            for word in statement.packs:
                found |= {word.text} | (contents(word.text) if word.text != name else frozenset())
    return frozenset(found)


def idle_packs(spec: Spec) -> Iterator[EslProblem]:
    included: list[tuple[Word, bool]] = []
    for part in spec.parts:
        statement = part.unit.statement
        if isinstance(statement, Include):
            given = {each.pack for each in statement.given}
            included += [(part.here(word), word.text in given) for word in statement.packs]
    names = dict.fromkeys(word.text for word, _ in included)
    for word, has_parameters in included:
        # One with parameters of its own says something else.
        around = next((name for name in names if name != word.text and word.text in contents(name)), "")
        if around and not has_parameters:
            message = f"`{around}` has `{word.text}` in it already, so this changes nothing; remove it"
            yield EslProblem("warning", message, word.span, remove=True)
