"""Names of processes."""
