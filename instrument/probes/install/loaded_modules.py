"""Rewrite functions of modules that were imported before recording began.

Invariant: only a function's `__code__` changes; active calls continue with the code they began with.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any

from clew.instrument.probes.bytecode.rewrite import Chooser, Probes


def loaded_namespaces() -> list[tuple[str, dict[str, Any]]]:
    """Return the name and namespace of every loaded module."""
    found = []
    for name, module in list(sys.modules.items()):
        try:
            found.append((name, object.__getattribute__(module, "__dict__")))
        except Exception:  # a program may put other objects into sys.modules
            continue
    return found


def loaded_modules() -> list[tuple[str, str, int]]:
    """Return the name, file ("" if missing) and namespace id of every loaded module."""
    files = [(name, namespace.get("__file__"), id(namespace)) for name, namespace in loaded_namespaces()]
    return [(name, file if type(file) is str else "", place) for name, file, place in files]


def rewrite_loaded(choosers: Mapping[int, Chooser], rewrite: Callable[[CodeType, Chooser], CodeType]) -> None:
    """Rewrite every existing function whose globals have their id in `choosers`.

    The search through all objects also finds methods, closures and functions wrapped by decorators.
    """
    remembered = {namespace: _once(choose) for namespace, choose in choosers.items()}
    for function in functions():
        choose = remembered.get(id(function.__globals__))
        if choose is not None:
            code = rewrite(function.__code__, choose)
            if code is not function.__code__:
                function.__code__ = code


def functions() -> list[FunctionType]:
    """Return every existing function."""
    return [found for found in objects() if type(found) is FunctionType]


def objects() -> list[Any]:
    """Return every object that the garbage collector tracks, including objects that `gc.freeze` hides.

    The search follows references to find objects missing from `gc.get_objects`, so it misses objects that only C code
    references. An untracked object never refers to a tracked object.
    """
    found: list[Any] = gc.get_objects()
    oldest = vars(sys)
    if not any(
        each is oldest for each in found
    ):  # `gc.freeze` hides it with the rest; 3.12 itself freezes a few objects at startup
        known = set(map(id, found))
        roots = [namespace for _, namespace in loaded_namespaces()]
        frontier = [*found, sys.modules, *roots, *sys._current_frames().values()]
        while frontier:
            referred = gc.get_referents(*frontier)
            reached = dict(zip(map(id, referred), referred, strict=True))
            for place in known & reached.keys():
                del reached[place]
            known |= reached.keys()
            frontier = list(filter(gc.is_tracked, reached.values()))
            found += frontier  # keep references so that ids are not reused
    return found


def _once(choose: Chooser) -> Chooser:
    """Cache the answers of `choose`, because all functions of one code object share its site."""
    answers: dict[CodeType, Probes | None] = {}

    def remembered(code: CodeType) -> Probes | None:
        if code not in answers:
            answers[code] = choose(code)
        return answers[code]

    return remembered
