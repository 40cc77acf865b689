"""The entities view."""
