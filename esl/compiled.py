"""Which functions a module of the standard library has that is written in C, of which there is no source.

Invariant: nothing but modules of the interpreter's own is imported.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys

from clew.records.compiled import is_compiled


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
