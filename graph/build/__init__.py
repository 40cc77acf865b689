"""Builds an execution graph from trace records."""
