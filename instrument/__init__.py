"""Runs inside the traced process: recorder, probes, adapters, start-up. Never raises into the user's program."""
