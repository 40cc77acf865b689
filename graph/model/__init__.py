"""The execution graph in memory: columns of events, edges, regions, and the tables of their names."""
