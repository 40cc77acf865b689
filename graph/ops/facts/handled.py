"""Tell which exceptions were handled when a line was written: the handled one, then those behind it, to the root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clew.graph.ops.facts.facts import Fact, Facts
from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, Frame

Link = Literal["", "cause", "member", "context"]
_LONGEST = 20
"""The maximum number of exceptions in a chain."""


@dataclass(frozen=True)
class Handled:
    """One exception of a chain."""

    fact: Fact[Exception_]
    """Its record at the line; its first record for an exception behind the handled one."""
    first: Fact[Exception_]
    """Its first record, of the place where it was raised."""
    link: Link = ""
    """How the exception before it in the chain came from it; "" for the handled one."""

    @property
    def at(self) -> tuple[Frame, ...]:
        """The stack where it was raised, innermost first."""
        return self.fact.text.at or self.first.text.at

    @property
    def rows(self) -> tuple[int, int]:
        return self.fact.row, self.first.row


def handled_at(facts: Facts, row: int) -> list[Handled]:
    """Return the exceptions whose handler wrote the line at a row, or the exception that the row records, with those behind it.

    The record of a handled exception comes just before the line's.
    """
    graph, exceptions = facts.graph, facts.exceptions
    at, start = row - 1, graph.strand_of(row).start
    found = None
    while found is None and at >= start and graph.at("kind", at) == Kind.EXCEPTION:
        fact = exceptions.at_row(at)
        found = fact if fact is not None and fact.text.role == "handled" else None
        at -= 1
    if found is None and graph.at("kind", row) == Kind.EXCEPTION:
        found = exceptions.at_row(row)
    return chain_of(facts, found) if found is not None else []


def chain_of(facts: Facts, fact: Fact[Exception_]) -> list[Handled]:
    """Return an exception and those behind it: causes, members of groups, and contexts."""
    chain = [Handled(fact, facts.exceptions.of(*fact.resource)[0])]
    keys = {fact.key}
    while len(chain) < _LONGEST:
        text = chain[-1].fact.text
        links: list[tuple[int, Link]] = [
            (text.cause, "cause"), *((member, "member") for member in text.members[:1]), (text.context, "context"),
        ]  # fmt: skip
        key, link = next((each for each in links if each[0]), (0, ""))
        first = next(iter(facts.exceptions.of(fact.process, key)), None) if key and key not in keys else None
        if first is None:
            break
        keys.add(key)
        chain.append(Handled(first, first, link))
    return chain
