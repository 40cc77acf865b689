"""Provide the operators on the graph, one per file."""
