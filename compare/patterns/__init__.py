"""Patterns: call sequences that threads and tasks repeat (ThreadViewer)."""
