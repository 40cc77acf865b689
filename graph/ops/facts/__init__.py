"""Recorded facts about waits, resources, exceptions, cancellations and outputs, as objects."""
