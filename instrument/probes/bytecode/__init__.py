"""Rewrite the bytecode of functions."""
