"""Queries are asked of runs that the tests write."""

from tests.support.runs.fixtures import graph_of, graphs, new_run, run

__all__ = ["graph_of", "graphs", "new_run", "run"]
