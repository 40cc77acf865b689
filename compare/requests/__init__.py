"""Requests of two runs, compared by categories of their flows (Spectroscope)."""
