"""Causality and states through databases and servers of keys."""
