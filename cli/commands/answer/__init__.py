"""Define the commands that answer questions about a run."""
