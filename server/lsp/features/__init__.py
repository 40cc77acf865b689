"""One file per feature of the language server, each ending in its registration function."""
