"""The language server: set-up, settings and one file per feature."""
