"""Answer timing questions: critical paths, slack and what-if."""
