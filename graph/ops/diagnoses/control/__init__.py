"""Diagnoses about control: cancellations, wake-ups, and tasks that schedule themselves."""
