"""Open a follower of a live run: of its trace files, or of the spans that it receives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.graph.entities.live.from_spans import FILE, SpanFollower
from clew.graph.entities.live.state import LiveState
from clew.graph.entities.live.tail import TraceFollower


def follow(
    folder: Path, state: LiveState | None = None, saved: Mapping[str, Any] | None = None
) -> TraceFollower | SpanFollower:
    """Return the follower; `saved` is as for `TraceFollower`. Raises `RunError` if the folder is not a run."""
    return (SpanFollower if (folder / FILE).exists() else TraceFollower)(folder, state, saved)
