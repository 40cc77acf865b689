"""Define the commands that record programs."""
