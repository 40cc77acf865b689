"""Concurrent programs with a planted stale or lost update, and what to ask about each of them."""
