"""Engines that answer query plans over a run that is cut into parts, in this process or on Ray."""
