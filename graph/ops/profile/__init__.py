"""Compute statistics of functions."""
