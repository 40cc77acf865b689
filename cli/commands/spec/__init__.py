"""Define the commands for specs and editors."""
