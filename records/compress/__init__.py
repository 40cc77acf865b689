"""Compressed trace files: blocks, column streams, Rice codes."""
