"""Tell which exceptions were handled when a line was written: the handled one, then those behind it, to the root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clew.graph.ops.facts.exceptions.pool_exceptions import is_from_pool, raised_in_worker
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
    is_from_pool: bool = False
    """Whether a process pool brought it. Then `first` is of its worker; it equals `fact` if the worker's is not known."""

    @property
    def at(self) -> tuple[Frame, ...]:
        """The stack where it was raised, innermost first; empty if that is not known."""
        if self.is_from_pool:
            return self.first.text.at if self.first is not self.fact else ()
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
    chain = [_handled(facts, fact, "")]
    keys = {fact.key}
    while len(chain) < _LONGEST:
        last = chain[-1]
        text, process = (
            (last.first.text, last.first.process) if last.is_from_pool else (last.fact.text, last.fact.process)
        )
        cause = 0 if last.first is last.fact and last.is_from_pool else text.cause
        links: list[tuple[int, Link]] = [
            (cause, "cause"), *((member, "member") for member in text.members[:1]), (text.context, "context"),
        ]  # fmt: skip
        key, link = next((each for each in links if each[0]), (0, ""))
        first = next(iter(facts.exceptions.of(process, key)), None) if key and key not in keys else None
        if first is None:
            break
        keys.add(key)
        chain.append(_handled(facts, first, link))
    return chain


def _handled(facts: Facts, fact: Fact[Exception_], link: Link) -> Handled:
    if is_from_pool(facts, fact):
        return Handled(fact, raised_in_worker(facts, fact) or fact, link, is_from_pool=True)
    return Handled(fact, facts.exceptions.of(*fact.resource)[0], link)
