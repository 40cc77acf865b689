"""The panel's data, one file per view."""
