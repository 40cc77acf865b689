"""Index a workspace's source code."""
