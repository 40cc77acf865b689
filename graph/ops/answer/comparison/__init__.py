"""Comparing an execution with like ones: what is usual, what is missing, and where it parted from them."""
