"""Parse a spec's text to a syntax tree, and format it."""
