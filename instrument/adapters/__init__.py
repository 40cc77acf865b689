"""Causality of the standard library, one module per mechanism."""
