"""Memory, threads and worker processes for work on large graphs."""
