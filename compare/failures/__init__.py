"""Rank the functions that may have made a test fail."""
