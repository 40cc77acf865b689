"""The contract between a traced process and everything else: event kinds, the probe plan, the trace-file format and its
reader. Nothing here depends on anything outside the standard library."""
