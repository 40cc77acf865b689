"""Share options, tables, progress bars and messages between commands."""
