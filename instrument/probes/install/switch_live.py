"""Change the recording of functions in a running program: add, remove or replace probes.

Invariant: afterwards, a function has the code that the current plan makes from its original code, or the original
code if the plan does not name it. Active calls continue with the code they began with; their names are returned for a
note in the trace.
"""

import sys
from collections.abc import Callable, Iterator
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import Any

from clew.instrument.probes.bytecode.rewrite import Chooser, is_function
from clew.instrument.probes.install import original_code
from clew.instrument.probes.install.loaded_modules import functions, loaded_modules, objects
from clew.instrument.probes.select.module_names import AS_MAIN, module_name
from clew.instrument.probes.select.rules import ModuleChooser, PlanChooser
from clew.records.fast_namedtuple import NamedTuple

Rewrite = Callable[[CodeType, Chooser], CodeType]

_CODE_OF_SUSPENDED = {GeneratorType: "gi_code", CoroutineType: "cr_code", AsyncGeneratorType: "ag_code"}

_last: dict[int, tuple[CodeType, object, CodeType]] = {}
"""(original, request, rewritten) by the id of the original, so that equal requests reuse the rewritten code."""


class Switched(NamedTuple):
    functions: int
    """Number of functions whose recording started, changed or ended."""
    under_way: tuple[str, ...]
    """Names of changed functions with active calls, which continue with the previous code."""
    gone: tuple[int, ...]
    """Sites of functions that are no longer recorded."""


def switch(
    chooser: PlanChooser | None,
    previous: PlanChooser | None,
    rewrite: Rewrite,
    site_of: Callable[[CodeType], int],
    leave: Callable[[CodeType], bool],
) -> Switched:
    """Give every existing function the code that `chooser` selects, or with None its original code.

    Functions whose code `leave` accepts remain unchanged. `previous` is the chooser until now, or None; if both
    choosers request the same recording, the function remains unchanged. `site_of` returns the site of the probes in a
    code object, 0 without probes.
    """
    choosers = _choosers(chooser) if chooser else {}
    before = _choosers(previous) if chooser and previous else {}
    new_codes: dict[tuple[int, int], CodeType] = {}
    replaced: dict[int, CodeType] = {}
    gone: dict[int, None] = {}
    count = 0
    for function in functions():
        code, namespace = function.__code__, id(function.__globals__)
        if not is_function(code):  # the code of a module or a class body
            continue
        new = new_codes.get((id(code), namespace))
        if new is None:
            new = code if leave(code) else _new_code(code, choosers.get(namespace), before.get(namespace), rewrite)
            new_codes[id(code), namespace] = new
        if new is not code:
            replaced[id(code)] = code  # keep a reference so that its id is not reused
            if (site := site_of(code)) and not site_of(new):
                gone[site] = None
            function.__code__ = new
            count += 1
    return Switched(count, tuple(dict.fromkeys(_under_way(replaced))), tuple(gone))


def _choosers(chooser: PlanChooser) -> dict[int, ModuleChooser]:
    """Return the module choosers by the id of the module's namespace."""
    found = {}
    for name, file, namespace in loaded_modules():
        known = module_name(vars(sys.modules[name]), file) if name in AS_MAIN else name
        choose = chooser.of_module(known, file) if chooser.names(known) else None
        if choose is not None:
            found[namespace] = choose
    return found


def _new_code(
    code: CodeType, choose: ModuleChooser | None, previous: ModuleChooser | None, rewrite: Rewrite
) -> CodeType:
    original = original_code.original_of(code)
    request = choose.request(original) if choose is not None else None
    if choose is None or request is None:
        return original
    if code is not original and previous is not None and previous.request(original) == request:
        return code
    last = _last.get(id(original))
    if last is not None and last[1] == request:
        return last[2]
    rewritten = rewrite(original, choose)
    _last[id(original)] = original, request, rewritten
    return rewritten


def _under_way(replaced: dict[int, CodeType]) -> Iterator[str]:
    """Yield the functions with replaced code that run on any thread or are suspended."""
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
