"""Mutants of real packages: how they are made, chosen, run and ranked. `benchmarks/mutants.py` measures with them."""
