"""Guides, one file each: their questions, their steps, and the query that they save."""
