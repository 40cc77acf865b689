"""Facts of recorded programs, with strands by their names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from clew.graph.store.store import open_graph
from tests.support.programs.named_facts import NamedFacts


@pytest.fixture
def facts(record) -> Callable[..., NamedFacts]:
    """`facts(source, *arguments)` records a program, which must end well, and returns its facts."""

    def run(source: str, *arguments: str, **options: object) -> NamedFacts:
        result = record(source, *arguments, **options)
        assert result.code == 0, result.stderr
        graph, problems = open_graph(result.folder)
        assert all("so far" in problem.what or "matching beginning" in problem.what for problem in problems), problems
        return NamedFacts(graph)

    return run
