"""Implement completion, hovers, renames and quick fixes for specs."""
