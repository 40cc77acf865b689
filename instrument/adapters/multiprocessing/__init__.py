"""Causality through multiprocessing and process pools."""
