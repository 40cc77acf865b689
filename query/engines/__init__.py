"""Engines that answer query plans for a partitioned run, in this process or on Ray."""
