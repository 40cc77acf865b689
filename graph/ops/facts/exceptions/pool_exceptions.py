"""Find where an exception was raised that a process pool brought from a worker: the worker's record of it.

A pool copies the exception, gives the copy a cause that holds the worker's traceback as text, and raises it where the result
is taken. The worker's record is found along the edges of the result, by the exception's type and message.
"""

from __future__ import annotations

from clew.graph.ops.causes.why import why
from clew.graph.ops.facts.facts import Fact, Facts
from clew.records.format.facts import Exception_

_TRACEBACKS = frozenset({"multiprocessing.pool.RemoteTraceback", "concurrent.futures.process._RemoteTraceback"})
_MOST_STEPS = 8
"""The most edges between where a result is taken and its worker."""
_MOST_EXCEPTIONS = 100
"""The most exceptions of a worker that are compared, from the result back."""


def is_from_pool(facts: Facts, fact: Fact[Exception_]) -> bool:
    """Return whether a process pool brought an exception from a worker."""
    causes = facts.exceptions.of(fact.process, fact.text.cause) if fact.text.cause else ()
    return any(cause.channel in _TRACEBACKS for cause in causes)


def raised_in_worker(facts: Facts, fact: Fact[Exception_]) -> Fact[Exception_] | None:
    """Return the worker's record of an exception that a process pool brought, None if no edge leads to one."""
    for step in why(facts.graph, fact.row, steps_at_most=_MOST_STEPS)[1:]:
        strand = facts.graph.strand_of(step.event)
        if strand.process == fact.process:
            continue
        inside = facts.exceptions.between(strand.start, step.event)
        for other in reversed(inside[-_MOST_EXCEPTIONS:]):
            if (other.channel, other.text.message) == (fact.channel, fact.text.message):
                return facts.exceptions.of(*other.resource)[0]
    return None
