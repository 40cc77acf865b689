"""Test sessions of two revisions, compared."""
