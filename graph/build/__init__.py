"""From trace records to an execution graph."""
