"""Recording that starts, changes and ends while the program runs."""
