"""What patterns call a module: the name that it is imported by; of one that is run instead, that after `python -m`, or its
file's stem.

Invariant: it is the same in the children that multiprocessing starts, which run the program's main module once more.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

AS_MAIN = frozenset({"__main__", "__mp_main__"})


def module_name(namespace: Mapping[str, Any], file: str) -> str:
    """Of the module with these globals, which a program's own need not say."""
    name = namespace.get("__name__")
    if name in AS_MAIN:
        name = getattr(namespace.get("__spec__"), "name", None)
    return name if type(name) is str and name not in AS_MAIN else stem(file)


def stem(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]
