"""Operators of queries whose answer is a table, a graph or a path."""
