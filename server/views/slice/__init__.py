"""The slice view."""
