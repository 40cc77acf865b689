"""The execution graph in memory: events as columns, edges, regions, and the names behind the numbers."""
