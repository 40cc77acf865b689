"""Build aggregate graphs: events summed by a label."""
