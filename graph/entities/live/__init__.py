"""Entities of a live run."""
