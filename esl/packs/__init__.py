"""Ship specs for libraries."""
