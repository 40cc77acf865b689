"""Define the contract between a traced process and all other packages: probe plan, trace-file format, reader, run folder.

This package depends only on the standard library.
"""
