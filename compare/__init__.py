"""Comparisons of many requests: what changed, which functions, which instances, and which patterns."""
