"""Comparison of requests of two runs by the categories of their flows (Spectroscope)."""
