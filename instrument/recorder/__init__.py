"""Stores records: a C core, and what decides when it records."""
