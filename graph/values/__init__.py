"""The flow of values in a second look: which line made a value what it was."""
