"""Specs are checked against workspaces of a few lines."""

from tests.support.specs.fixtures import workspace

__all__ = ["workspace"]
