"""Report included packs that another included pack already contains."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from clew.esl.packs import registry
from clew.esl.syntax.ast import Include, Spec, Word
from clew.esl.syntax.parser import parse
from clew.esl.syntax.problem import EslProblem


@functools.cache
def contents(name: str) -> frozenset[str]:
    """Return the names of all packs that a pack includes, at any depth; empty for an adapter."""
    text = registry.shipped().get(name)
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
        # A pack with its own parameters has a different meaning.
        around = next((name for name in names if name != word.text and word.text in contents(name)), "")
        if around and not has_parameters:
            message = f"`{around}` already contains `{word.text}`; remove it"
            yield EslProblem("warning", message, word.span, remove=True)
