"""Import and export foreign traces: one module per format, and the shared conversion to an execution graph."""
