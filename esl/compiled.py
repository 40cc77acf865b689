"""What is known of modules that are written in C, of which there is no source: whether a module is one, and for the standard
library's which functions it has. Invariant: nothing but modules of the interpreter's own is imported."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from importlib.machinery import ExtensionFileLoader, PathFinder


@functools.lru_cache(maxsize=256)
def is_compiled(module: str) -> bool:
    """Judged from this interpreter's path, without importing the packages it is in."""
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


@functools.lru_cache(maxsize=256)
def functions_in(module: str) -> tuple[str, ...] | None:
    """Names of the functions and methods of a compiled module of the standard library; None for any other module."""
    if not is_compiled(module) or module.partition(".")[0] not in sys.stdlib_module_names:
        return None
    try:
        found = vars(importlib.import_module(module))
    except Exception:  # not every build has all it needs
        return None
    names = [name for name, value in found.items() if inspect.isbuiltin(value)]
    for name, value in found.items():
        if inspect.isclass(value):
            names += [f"{name}.{method}" for method, what in vars(value).items() if inspect.ismethoddescriptor(what)]
    return tuple(names)
