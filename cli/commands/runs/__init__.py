"""Define the commands that list, show and convert runs."""
