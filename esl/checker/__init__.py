"""Check a spec, alone and against the source code."""
