"""Code that runs inside the traced process: recorder, probes, adapters, start-up. It never raises into the program."""
