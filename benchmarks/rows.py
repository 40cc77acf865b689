"""One row of a benchmark's result, of which the last line printed has all as one JSON object."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def row(
    name: str,
    unit: str,
    ours: float,
    asked: float | None,
    *,
    peer: str = "",
    peer_value: float | None = None,
    digits: int = 2,
) -> Row:
    """At most `asked` is asked for, None for nothing; `peer_value` is what `peer` takes for the same."""
    return {
        "name": name,
        "unit": unit,
        "ours": round(ours, digits),
        "peer": peer,
        "peer_value": None if peer_value is None else round(peer_value, digits),
        "asked": asked,
        "met": asked is None or ours <= asked,
    }
