"""Define the bytes of a trace file: records, headers, keys, definitions."""
