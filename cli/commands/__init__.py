"""Define the commands of `clew`, one file per command."""
