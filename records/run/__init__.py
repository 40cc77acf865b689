"""Manage a run's folder: its files, processes, sources, owner and sessions."""
