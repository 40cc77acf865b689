"""Propagate causes across processes: W3C trace context and other carriers."""
