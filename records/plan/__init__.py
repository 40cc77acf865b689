"""Define the probe plan: the functions to record, and the actions at each."""
