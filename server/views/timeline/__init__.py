"""The timeline view."""
