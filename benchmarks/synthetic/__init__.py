"""Runs and workspaces of any size, made without a recording: for the benchmarks and for tests."""
