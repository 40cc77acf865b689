"""Causality through asyncio: tasks, callbacks, locks, streams."""
