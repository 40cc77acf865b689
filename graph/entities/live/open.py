"""Who follows a run that goes on: of its record files, or of the spans that others send to it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clew.graph.entities.live.from_spans import FILE, FollowingSpans
from clew.graph.entities.live.state import LiveState
from clew.graph.entities.live.tail import Following


def follow(
    folder: Path, state: LiveState | None = None, kept: Mapping[str, Any] | None = None
) -> Following | FollowingSpans:
    """`kept` as for `Following`. Raises `RunError` when the folder is no run."""
    return (FollowingSpans if (folder / FILE).exists() else Following)(folder, state, kept)
