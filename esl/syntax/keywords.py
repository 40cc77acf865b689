"""Define the words of the language: first words of statements, clauses of each, units and levels. Invariant: the
grammar has exactly these words."""

from __future__ import annotations

CLAUSES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "send": (("key",), ("as", "when")),
    "receive": (("key",), ("as", "when")),
    "join": (("key",), ("as", "when")),
    "define": (("key",), ("as", "when")),
    "use": (("key",), ("as", "when")),
    "release": (("key",), ("as", "when")),
    "acquire": (("key",), ("as", "when")),
    "handle": ((), ("key", "as")),
    "request": ((), ("as", "when")),
    "name": (("as",), ("when",)),
    "inject": (("into",), ("as", "when")),
    "extract": (("from",), ("as", "when")),
    "payload": (("value",), ("as", "limit", "at most", "when")),
    "resource": (("as",), ("key", "item", "capacity")),
}
"""Verbs with their required and optional clauses."""
EACH = ("receive", "join", "use")
"""Verbs that accept a list of keys."""
NAMING = ("request", "name")
"""Verbs whose name may be a value."""
USES = ("taken", "returned")
"""What a call does with a resource."""
WHOLE_CALLS = ("handle", "request")
"""Verbs that apply to a call from its start to its end."""
KEYWORDS = (
    "include", "scope", *CLAUSES, "logs", "redact", "budget", "quota", "sample", "output", "record", "parameter", "level",
    "entity",
)  # fmt: skip
"""First words of statements."""
MEMBER_KEYWORDS = ("watch", "when")
"""First words of an entity's lines."""
MOMENTS = ("start", "finish")
EVENTS = {"position": (1, 2), "deletion": (1, 1), "communication": (2, 2)}
"""Events of entities, with their minimum and maximum number of values."""
RATES = {"s": 1, "min": 60, "h": 3600}
"""Units of `at most 10/…`, in seconds."""
UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
BUILT_IN_LEVELS = ("event", "function", "class", "module", "task", "thread", "process", "machine")
"""Aggregation levels that a spec cannot redefine (it can redefine `component`)."""
