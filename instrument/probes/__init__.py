"""Detect calls: rewritten bytecode, and the sites it belongs to."""
