"""Reports: the answers about a run in one file."""
