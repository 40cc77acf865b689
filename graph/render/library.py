"""Tell files of the standard library and of installed packages from those of a program, by their paths."""

from __future__ import annotations

import re

_LIBRARY = re.compile(
    r"[\\/](?:lib(?:64)?[\\/]python3[^\\/]*|Python3\d*\\Lib|Lib(?=\\site-p))[\\/]((?:site|dist)-packages[\\/])?(.+)"
)


def library_place(path: str) -> str:
    """Return `<stdlib>/asyncio/events.py` or `<site-packages>/flask/app.py` for library files of any Python, else ""."""
    found = _LIBRARY.search(path)
    return f"<{'site-packages' if found[1] else 'stdlib'}>/{found[2]}" if found else ""
