"""Define the contract between a traced process and all other packages: event kinds, the probe plan, the trace-file
format and its reader. This package depends only on the standard library."""
