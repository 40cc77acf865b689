"""Format text that reports for a terminal, a pull request and a build share: locations in the code, and escaped Markdown."""

from __future__ import annotations

import os


def at(location: tuple[str, int] | None, root: str) -> str:
    """Return ` (FILE:LINE)`, relative to `root` if the file is inside it; "" if there is no place."""
    if location is None or not location[0]:
        return ""
    inside = os.path.relpath(location[0], root) if location[0].startswith(root + os.sep) else location[0]
    return f" ({inside}:{location[1]})"


def escaped(text: str) -> str:
    """Escape characters that Markdown interprets."""
    for mark in ("<", "*", "_"):
        text = text.replace(mark, f"\\{mark}")
    return text
