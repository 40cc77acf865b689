"""A run's graph on disk: the columnar store and the caches next to it."""
