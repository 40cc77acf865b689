"""The operators on the graph, one per file."""
