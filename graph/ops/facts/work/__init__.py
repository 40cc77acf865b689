"""Units of work: which request or task an event belongs to, who started it, and for whom it ran."""
