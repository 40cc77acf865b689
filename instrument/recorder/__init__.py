"""Stores records: a C core and its pure-Python twin, chosen in `select`."""
