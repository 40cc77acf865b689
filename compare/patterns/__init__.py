"""Patterns: what threads and tasks repeat (ThreadViewer)."""
