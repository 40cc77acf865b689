"""Changes what is recorded of the functions of a running program: puts probes in, takes them out, exchanges them.

Invariant: a function ends up with what the plan of now makes of its original code, which is that code itself where the plan
says nothing. Calls under way go on with the code they began with; they are counted, for a note in the trace.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterable
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, FunctionType, GeneratorType
from typing import Any, NamedTuple

from clew.instrument.probes import originals
from clew.instrument.probes.bytecode import Chooser
from clew.instrument.probes.chooser import ModuleChooser, PlanChooser
from clew.instrument.probes.loaded import functions, loaded_modules

Rewrite = Callable[[CodeType, Chooser], CodeType]

_SUSPENDABLE: dict[type, str] = {GeneratorType: "gi_", CoroutineType: "cr_", AsyncGeneratorType: "ag_"}

_last: dict[int, tuple[CodeType, object, CodeType]] = {}
"""(original, what was wanted of it, rewritten) by the original's id, so that the same wish finds the same code again."""


class Switched(NamedTuple):
    functions: int
    """Functions that are recorded from here on, or differently, or no more."""
    under_way: tuple[str, ...]
    """Those of them that had calls under way, which go on as they began."""
    sites: tuple[int, ...]
    """Of those that are recorded no more."""


def switch(chooser: PlanChooser | None, rewrite: Rewrite, *, leave: Callable[[CodeType], bool]) -> Switched:
    """Gives every function there is the code that `chooser` wants; None: its own. Those whose code `leave` names stay."""
    modules = _choosers(chooser) if chooser else {}
    wanted: dict[tuple[int, int], CodeType] = {}
    replaced: dict[int, CodeType] = {}
    count = 0
    for function in functions():
        code, namespace = function.__code__, id(function.__globals__)
        new = wanted.get((id(code), namespace))
        if new is None:
            new = code if leave(code) else _wanted(originals.original_of(code), modules.get(namespace), rewrite)
            wanted[id(code), namespace] = new
        if new is not code:
            replaced[id(code)] = code  # held, so that its id stays its own
            function.__code__ = new
            count += 1
    gone = tuple(
        site
        for code in replaced.values()
        if (site := originals.site_of(code)) and not (chooser and _still_wanted(originals.original_of(code)))
    )
    return Switched(count, tuple(dict.fromkeys(_under_way(replaced))), gone)


def _choosers(chooser: PlanChooser) -> dict[int, ModuleChooser]:
    """By the id of a module's namespace."""
    found = {}
    for name, file, namespace in loaded_modules():
        known = _name_of_main(file) if name == "__main__" else name
        choose = chooser.of_module(known, file) if chooser.names(known) else None
        if choose is not None:
            found[namespace] = choose
    return found
