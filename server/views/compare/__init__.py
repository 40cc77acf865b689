"""The view of compared requests."""
