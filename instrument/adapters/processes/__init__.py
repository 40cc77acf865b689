"""Causality through child processes, pipes and standard streams."""
