"""The words of the language: what statements begin with, which clauses each has, units and levels. Invariant: the grammar
knows these words and no others."""

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
}
"""The verbs, each with the clauses it needs and those it may have."""
EACH = ("receive", "join", "use")
"""Verbs that may take a list of keys."""
NAMING = ("request", "name")
"""Verbs whose name may be a value."""
WHOLE_CALLS = ("handle", "request")
"""Verbs that are about a call from its start to its end."""
KEYWORDS = (
    "include", "scope", *CLAUSES, "logs", "redact", "budget", "quota", "sample", "parameter", "level", "entity"
)  # fmt: skip
"""What a statement can begin with."""
MEMBER_KEYWORDS = ("watch", "when")
"""What a line of an entity can begin with."""
MOMENTS = ("start", "finish")
EVENTS = {"position": (1, 2), "deletion": (1, 1), "communication": (2, 2)}
"""Events of entities, with the fewest and most values they take."""
RATES = {"s": 1, "min": 60, "h": 3600}
"""What `at most 10/…` can count by, in seconds."""
UNITS = {"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
BUILT_IN_LEVELS = ("event", "function", "class", "module", "task", "thread", "process", "machine")
"""Aggregation levels that a spec cannot give another meaning (`component` it can)."""
