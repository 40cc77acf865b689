"""Programs for tuning the answers."""
