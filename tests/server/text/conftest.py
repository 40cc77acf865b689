"""Fixtures: runs that the tests write, for texts about events."""

from tests.support.runs.fixtures import graph_of, graphs, new_run, run

__all__ = ["graph_of", "graphs", "new_run", "run"]
