"""Start, change and end a recording while the program runs."""
