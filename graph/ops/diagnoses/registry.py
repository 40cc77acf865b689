"""The diagnoses, in the order in which an answer prefers them among equals."""

from __future__ import annotations

from collections.abc import Callable

from clew.graph.ops.diagnoses.finding import Finding
from clew.graph.ops.facts.facts import Facts

DIAGNOSES: tuple[Callable[[Facts], list[Finding]], ...] = ()


def findings(facts: Facts) -> list[Finding]:
    """Return what all diagnoses find in a run; the result is cached with the graph."""
    known = facts.graph.answers.get("findings")
    if known is None:
        known = facts.graph.answers["findings"] = [found for find in DIAGNOSES for found in find(facts)]
    result: list[Finding] = known
    return result
