"""Exceptions: which ones were handled at a line, and where they were raised."""
