"""Find and contact a running process for `clew attach`."""
