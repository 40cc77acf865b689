"""Fixtures of runs that the tests write and query."""

from tests.support.runs.fixtures import graph_of, graphs, new_run, run

__all__ = ["graph_of", "graphs", "new_run", "run"]
