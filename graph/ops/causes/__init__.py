"""Explain why an event happened, and navigate from it."""
