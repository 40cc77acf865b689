"""Slice a graph: collect all events that led to an event or followed from it."""
