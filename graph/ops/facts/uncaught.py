"""Exceptions that no code caught: they ended a thread, a task or the program."""

from __future__ import annotations

from collections.abc import Iterator

from clew.graph.ops.facts.facts import Fact, Facts
from clew.records.format.facts import Exception_

_ENDS_WITHOUT_ERROR = frozenset({"SystemExit", "KeyboardInterrupt", "GeneratorExit", "CancelledError", "StopIteration"})


def uncaught(facts: Facts) -> Iterator[Fact[Exception_]]:
    """Yield the exceptions that ended a strand or that nobody took from a task, without those that ask for an end."""
    for fact in facts.exceptions.take(facts.exceptions.of_roles("ended", "unretrieved")):
        if fact.channel.rpartition(".")[2] not in _ENDS_WITHOUT_ERROR:
            yield fact
