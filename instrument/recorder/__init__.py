"""The recorder: a C core that stores records, and the Python code that starts, stops and configures it."""
