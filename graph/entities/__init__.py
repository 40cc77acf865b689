"""Compute the state of a system at any moment by folding the events of its entities.

Entities are inside containers and send messages to each other.
"""
