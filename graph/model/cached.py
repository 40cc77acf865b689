"""Answers that are computed once for a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from clew.graph.model.graph import ExecutionGraph

T = TypeVar("T")


def cached(graph: ExecutionGraph, name: str, make: Callable[[], T]) -> T:
    """Return the answer of a name that is kept with a graph, which `make` computes on the first use."""
    answers = graph.answers
    if name not in answers:
        answers[name] = make()
    known: T = answers[name]
    return known
