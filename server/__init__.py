"""The language server and the panel's data."""
