"""What `benchmarks/graph.py` works on: generated execution graphs, and the same questions put to other libraries."""
