"""Programs with a change that a switch plants, for `benchmarks/under_load.py`."""
