"""When two spellings of a path are one file."""

from __future__ import annotations

import functools
import os


@functools.lru_cache(maxsize=4096)
def same_file_key(path: str) -> str:
    """Equal for all spellings of one file: relative, through a link, in another case where that does not matter."""
    return os.path.normcase(os.path.realpath(path))
