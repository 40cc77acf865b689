"""Tell whether a module is written in C, for the language, which accepts rules about its functions, and for the traced
process, which wraps them. Invariant: nothing is imported to find out."""

from __future__ import annotations

import functools
import sys
from importlib.machinery import ExtensionFileLoader, PathFinder


@functools.lru_cache(maxsize=256)
def is_compiled(module: str) -> bool:
    """Decide by this interpreter's path, without importing the parent packages."""
    if module in sys.builtin_module_names:
        return True
    parts = module.split(".")
    path = None
    try:
        for count in range(1, len(parts) + 1):
            spec = PathFinder.find_spec(".".join(parts[:count]), path)
            if spec is None:
                return False
            path = spec.submodule_search_locations
            if path is None:
                return count == len(parts) and isinstance(spec.loader, ExtensionFileLoader)
    except (ImportError, ValueError, AttributeError):
        return False
    return False
