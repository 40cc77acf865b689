"""Evaluate the actions of a probe plan: payloads, conditions, keys, limits."""
