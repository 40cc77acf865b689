"""Diagnoses about data: bytes, state, exceptions, and objects that were closed."""
