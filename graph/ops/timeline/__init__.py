"""Show a run over time: calls as bars, causes as arrows."""
