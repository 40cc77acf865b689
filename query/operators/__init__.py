"""The operators of the query language, one module each."""
