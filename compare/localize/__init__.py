"""Suspects: services and functions, ranked by evidence."""
