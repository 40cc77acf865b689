"""List the functions of standard library modules written in C, which have no source.

Invariant: only modules of the interpreter's standard library are imported.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys

from clew.source.c_modules import is_compiled


@functools.lru_cache(maxsize=256)
def functions_in(module: str) -> tuple[str, ...] | None:
    """Return the names of the functions and methods of a compiled standard library module; None for any other module."""
    if not is_compiled(module) or module.partition(".")[0] not in sys.stdlib_module_names:
        return None
    try:
        found = vars(importlib.import_module(module))
    except Exception:  # some builds lack its dependencies
        return None
    names = [name for name, value in found.items() if inspect.isbuiltin(value)]
    for name, value in found.items():
        if inspect.isclass(value):
            names += [f"{name}.{method}" for method, what in vars(value).items() if inspect.ismethoddescriptor(what)]
    return tuple(names)
