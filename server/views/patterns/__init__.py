"""The patterns view."""
