"""Comparison of test sessions of two revisions."""
