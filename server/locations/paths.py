"""Decides whether two spellings of a path are one file."""

from __future__ import annotations

import functools
import os


@functools.lru_cache(maxsize=4096)
def same_file_key(path: str) -> str:
    """Return a key that is equal for all spellings of one file: relative, through a link, or in another case on
    case-insensitive file systems."""
    return os.path.normcase(os.path.realpath(path))
