"""What each instruction, call and store passes on, and so adds to the flow of values."""
