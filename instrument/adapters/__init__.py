"""Causality through the standard library, one module per mechanism. `MODULES` maps the names in a plan to the modules."""

MODULES = {
    "callbacks": "asyncio.callbacks",
    "exceptions": "facts.exceptions",
    "executors": "executors",
    "http": "http",
    "locks": "locks",
    "outputs": "facts.outputs",
    "pauses": "facts.pauses",
    "processes": "processes.subprocess",
    "queues": "queues",
    "redis_values": "databases.redis_values",
    "rpc": "rpc",
    "sockets": "sockets",
    "sqlite_locks": "databases.sqlite_locks",
    "tasks": "asyncio.tasks",
    "threads": "threads",
    "web": "web",
}
"""The names of adapters in a plan, and their modules in this package."""

UNFOLLOWED = {
    "uvloop": "tasks",
    "winloop": "tasks",
    "trio": "tasks",
    "curio": "tasks",
    "gevent": "greenlets",
    "eventlet": "greenlets",
    "twisted": "callbacks",
}
"""The libraries whose event loops are not followed, and what takes turns in them. Twisted on asyncio is followed."""
