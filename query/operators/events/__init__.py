"""Operators of queries whose answer is a set of events."""
