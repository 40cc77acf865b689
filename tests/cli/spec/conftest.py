"""Fixtures: workspaces of a few lines that specs are checked against."""

from tests.support.specs.fixtures import workspace

__all__ = ["workspace"]
