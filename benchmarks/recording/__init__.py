"""The parts of `benchmarks/record.py`: what is run, under which tracers, and how it is timed."""
