"""Compute the module name that patterns match.

It is the import name; for a main module it is the name after `python -m`, or the stem of the file.

Invariant: the name is the same in children started by multiprocessing, which run the program's main module again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

AS_MAIN = frozenset({"__main__", "__mp_main__"})


def module_name(namespace: Mapping[str, Any], file: str) -> str:
    """Return the name of the module with the globals `namespace`, which may lack a valid `__name__`."""
    name = namespace.get("__name__")
    if name in AS_MAIN:
        name = getattr(namespace.get("__spec__"), "name", None)
    return name if type(name) is str and name not in AS_MAIN else stem(file)


def stem(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]
