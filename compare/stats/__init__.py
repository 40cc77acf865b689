"""Statistical tests and thresholds."""
