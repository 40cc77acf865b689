"""Changes what is recorded of the functions of a running program: puts probes in, takes them out, exchanges them.

Invariant: a function ends up with what the plan of now makes of its original code, which is that code itself where the plan
says nothing. Calls under way go on with the code they began with; they are named, for a note in the trace.
"""

import sys
from collections.abc import Callable, Iterator
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any

from clew.instrument.probes import originals
from clew.instrument.probes.bytecode import Chooser, is_function
from clew.instrument.probes.chooser import ModuleChooser, PlanChooser
from clew.instrument.probes.loaded import functions, loaded_modules, objects
from clew.instrument.probes.module_names import AS_MAIN, module_name
from clew.records.tuples import NamedTuple

Rewrite = Callable[[CodeType, Chooser], CodeType]

_CODE_OF_SUSPENDED = {GeneratorType: "gi_code", CoroutineType: "cr_code", AsyncGeneratorType: "ag_code"}

_last: dict[int, tuple[CodeType, object, CodeType]] = {}
"""(original, what was wanted of it, rewritten) by the original's id, so that the same wish finds the same code again."""


class Switched(NamedTuple):
    functions: int
    """How many are recorded from here on, or differently, or no more."""
    under_way: tuple[str, ...]
    """Those of them that had calls under way, which go on as they began."""
    gone: tuple[int, ...]
    """The sites of those that are recorded no more."""


def switch(
    chooser: PlanChooser | None,
    previous: PlanChooser | None,
    rewrite: Rewrite,
    site_of: Callable[[CodeType], int],
    leave: Callable[[CodeType], bool],
) -> Switched:
    """Gives every function there is the code that `chooser` wants; None: its own. Those whose code `leave` names stay.

    `previous` is what chose until now, None when nothing did: where both want the same, nothing changes. `site_of` gives the
    site whose probes are in a code object, 0 for none.
    """
    choosers = _choosers(chooser) if chooser else {}
    before = _choosers(previous) if chooser and previous else {}
    wanted: dict[tuple[int, int], CodeType] = {}
    replaced: dict[int, CodeType] = {}
    gone: dict[int, None] = {}
    count = 0
    for function in functions():
        code, namespace = function.__code__, id(function.__globals__)
        if not is_function(code):  # what runs a module or a class body
            continue
        new = wanted.get((id(code), namespace))
        if new is None:
            new = code if leave(code) else _wanted(code, choosers.get(namespace), before.get(namespace), rewrite)
            wanted[id(code), namespace] = new
        if new is not code:
            replaced[id(code)] = code  # held, so that its id stays its own
            if (site := site_of(code)) and not site_of(new):
                gone[site] = None
            function.__code__ = new
            count += 1
    return Switched(count, tuple(dict.fromkeys(_under_way(replaced))), tuple(gone))


def _choosers(chooser: PlanChooser) -> dict[int, ModuleChooser]:
    """By the id of a module's namespace."""
    found = {}
    for name, file, namespace in loaded_modules():
        known = module_name(vars(sys.modules[name]), file) if name in AS_MAIN else name
        choose = chooser.of_module(known, file) if chooser.names(known) else None
        if choose is not None:
            found[namespace] = choose
    return found


def _wanted(code: CodeType, choose: ModuleChooser | None, previous: ModuleChooser | None, rewrite: Rewrite) -> CodeType:
    original = originals.original_of(code)
    wish = choose.wish(original) if choose is not None else None
    if choose is None or wish is None:
        return original
    if code is not original and previous is not None and previous.wish(original) == wish:
        return code
    last = _last.get(id(original))
    if last is not None and last[1] == wish:
        return last[2]
    rewritten = rewrite(original, choose)
    _last[id(original)] = original, wish, rewritten
    return rewritten


def _under_way(replaced: dict[int, CodeType]) -> Iterator[str]:
    """The functions that run on any thread, or wait suspended, with code that was replaced."""
    for innermost in sys._current_frames().values():
        frame: FrameType | None = innermost
        while frame is not None:
            if id(frame.f_code) in replaced:
                yield frame.f_code.co_qualname
            frame = frame.f_back
    for found in objects():
        attribute = _CODE_OF_SUSPENDED.get(type(found))
        if attribute is not None:
            suspended: Any = found
            code = getattr(suspended, attribute)
            if id(code) in replaced and getattr(suspended, attribute.replace("code", "frame")) is not None:
                yield code.co_qualname
