"""Record the `__init__` that dataclasses and attrs generate: it creates the states of an object, and has no source.

Only plans with `writes` need it. The site of the method is the line of the class.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import Any

from clew.instrument.adapters.patching import hook_return, when_imported
from clew.instrument.probes.bytecode.rewrite import Chooser, Probes
from clew.instrument.probes.select.rules import PlanChooser

_MOST_FRAMES = 12
_hooked: list[bool] = []


def install(chooser: Callable[[], PlanChooser | None], rewrite: Callable[[CodeType, Chooser], CodeType]) -> None:
    """Rewrite the generated methods of classes that are created from now on. Idempotent."""
    if _hooked:
        return
    _hooked.append(True)

    def made(class_: Any) -> None:
        plan = chooser()
        if plan is not None:
            _record(class_, plan, rewrite)

    when_imported("dataclasses", lambda module: hook_return(module._process_class, made, 0))
    when_imported("attr._make", lambda module: hook_return(module._ClassBuilder.build_class, made, 0))


def _record(class_: type, plan: PlanChooser, rewrite: Callable[[CodeType, Chooser], CodeType]) -> None:
    module = sys.modules.get(class_.__module__)
    init = class_.__dict__.get("__init__")
    file = getattr(module, "__file__", None)
    if type(init) is not FunctionType or type(module) is not ModuleType or type(file) is not str:
        return
    code = init.__code__
    if not code.co_filename.startswith("<"):
        return
    choose = plan.of_module(module.__name__, file) if plan.names(module.__name__) else None
    if choose is None:
        return
    line = _line_of(module.__name__, code.co_firstlineno)

    def chosen(found: CodeType) -> Probes | None:
        if found is not code:
            return None
        # Only the site has the place of the class: a traceback shows the method as before.
        return choose(found.replace(co_firstlineno=line, co_qualname=f"{class_.__qualname__}.__init__"))

    init.__code__ = rewrite(code, chosen)


def _line_of(module: str, otherwise: int) -> int:
    """Return the line that the module runs now: that of the class which is being made."""
    frame = sys._getframe()
    for _ in range(_MOST_FRAMES):
        if frame.f_globals.get("__name__") == module:
            return frame.f_lineno
        if frame.f_back is None:
            break
        frame = frame.f_back
    return otherwise
