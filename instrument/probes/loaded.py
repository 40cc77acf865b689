"""Rewrites functions of modules that were imported before recording began.

Invariant: only a function's `__code__` changes; calls under way go on with the code they began with.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Mapping
from types import CodeType, FunctionType
from typing import Any

from clew.instrument.probes.bytecode import Chooser, Probes


def loaded_namespaces() -> list[tuple[str, dict[str, Any]]]:
    """Name and namespace of every module there is."""
    found = []
    for name, module in list(sys.modules.items()):
        try:
            found.append((name, object.__getattribute__(module, "__dict__")))
        except Exception:  # what a program puts into sys.modules need not be a module
            continue
    return found


def loaded_modules() -> list[tuple[str, str, int]]:
    """Name, file ("" for none) and the id of the namespace of every module there is."""
    files = [(name, namespace.get("__file__"), id(namespace)) for name, namespace in loaded_namespaces()]
    return [(name, file if type(file) is str else "", place) for name, file, place in files]


def rewrite_loaded(choosers: Mapping[int, Chooser], rewrite: Callable[[CodeType, Chooser], CodeType]) -> None:
    """Rewrites every function there is whose globals have their id in `choosers`.

    Looking through all objects finds methods, closures and functions hidden behind decorators alike.
    """
    remembered = {namespace: _once(choose) for namespace, choose in choosers.items()}
    for function in functions():
        choose = remembered.get(id(function.__globals__))
        if choose is not None:
            code = rewrite(function.__code__, choose)
            if code is not function.__code__:
                function.__code__ = code


def functions() -> list[FunctionType]:
    """Every function there is."""
    return [found for found in objects() if type(found) is FunctionType]


def objects() -> list[Any]:
    """Every object that the garbage collector tracks, those that `gc.freeze` hides from `gc.get_objects` included.

    The hidden ones are found by going from object to object, so what only C code holds on to stays hidden. What is not
    tracked refers to nothing that is.
    """
    found: list[Any] = gc.get_objects()
    oldest = vars(sys)
    if not any(
        each is oldest for each in found
    ):  # it freezes with the rest; 3.12 freezes a few of its own at its start
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
            found += frontier  # held, so that ids stay their own
    return found


def _once(choose: Chooser) -> Chooser:
    """Functions made of one code object share its site."""
    answers: dict[CodeType, Probes | None] = {}

    def remembered(code: CodeType) -> Probes | None:
        if code not in answers:
            answers[code] = choose(code)
        return answers[code]

    return remembered
