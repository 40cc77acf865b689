"""Foreign traces: one file per format that is read or written, and what they share on the way to an execution graph."""
