"""Diagnoses about resources: who holds what others wait for, and an event loop that gives no way."""
