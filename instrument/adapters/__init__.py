"""Causality through the standard library, one module per mechanism; `MODULES` maps a plan's names to them."""

MODULES = {
    "callbacks": "asyncio.callbacks",
    "executors": "executors",
    "http": "http",
    "locks": "locks",
    "processes": "processes.subprocess",
    "queues": "queues",
    "redis_values": "redis_values",
    "rpc": "rpc",
    "sockets": "sockets",
    "tasks": "asyncio.tasks",
    "threads": "threads",
    "web": "web",
}
"""The adapters that a plan can name, and their modules in this package."""
