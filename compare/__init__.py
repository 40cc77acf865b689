"""Many requests against many: what changed, which method, which instance, which pattern."""
