"""Rewrite modules on import, after the interpreter has read, compiled and cached them as usual.

The hook wraps `get_code` of the interpreter's own loaders for source and bytecode files. Plain imports, subclasses of
these loaders, `python -m`, `runpy` and modules loaded manually from a file all use it. So finders, loaders, specs,
`__file__`, cached files and resources are the same as without clew, and clew imports nothing on behalf of the
program. Zip archives and frozen modules are left unchanged; for scripts see `scripts`.

Invariant: an error in this module leaves the imported module unchanged and writes a note to the trace.
"""

from __future__ import annotations

import copyreg
import importlib.machinery
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

from clew.instrument.probes import sites
from clew.instrument.probes.bytecode import opcodes, probe_sequence
from clew.instrument.probes.bytecode import rewrite as bytecode
from clew.instrument.probes.bytecode.rewrite import Chooser
from clew.instrument.probes.install import bytecode_libraries, original_code, switch_live
from clew.instrument.probes.install.hidden_calls import Quiet
from clew.instrument.probes.install.loaded_modules import loaded_modules, rewrite_loaded
from clew.instrument.probes.select.rules import PlanChooser
from clew.instrument.recorder.core import core
from clew.records.plan.plan import Plan

_chooser: PlanChooser | None = None
_hooked = False


def install(plan: Plan) -> bool:
    """Record with `plan` from now on, also in modules that are already imported.

    Return False if this interpreter is not supported.
    """
    global _chooser
    if not opcodes.SUPPORTED:
        version = ".".join(map(str, opcodes.VERSION))
        sites.note(
            f"functions are not recorded: this clew rewrites the bytecode of Python 3.11 to 3.13, not of {version}"
        )
        return False
    _chooser = PlanChooser(plan)
    _hook_imports()
    _wait_for_classes(_chooser)
    _hook_generated_methods(_chooser)
    _rewrite_loaded(_chooser)
    bytecode_libraries.prepare_loaded()
    return True


def _hook_imports() -> None:
    global _hooked
    if _hooked:
        return
    _hooked = True
    copyreg.pickle(core.Probe, probe_sequence.pickled)  # type: ignore[arg-type]  # the replacement is not a `Probe`
    copyreg.pickle(Quiet, _pickled_action)  # type: ignore[arg-type]  # unpickling returns another type
    for loader in (importlib.machinery.SourceFileLoader.__mro__[2], importlib.machinery.SourcelessFileLoader):
        _wrap_get_code(loader)


def switch(plan: Plan | None, leave: Callable[[CodeType], bool]) -> switch_live.Switched:
    """Record with `plan` from now on, also in existing functions, running or not; with None, record nothing.

    This is for a running program that was prepared for it (`original_code`). Functions whose code `leave` accepts
    remain unchanged.
    """
    global _chooser
    if plan is not None and not opcodes.SUPPORTED:
        install(plan)
        return switch_live.Switched(0, (), ())
    previous, _chooser = _chooser, PlanChooser(plan) if plan is not None else None
    if _chooser is not None:
        _hook_imports()
        _wait_for_classes(_chooser)
        _hook_generated_methods(_chooser)
        bytecode_libraries.prepare_loaded()
    return switch_live.switch(_chooser, previous, rewrite, _site_in, leave)


def _site_in(code: CodeType) -> int:
    probe: object = core.Probe
    for constant in code.co_consts:
        if type(constant) is probe:
            return int(constant.site)
    return 0


def _pickled_action(_: object) -> tuple[object, ...]:
    """Pickle an action as a callable that accepts any arguments and has no effect."""
    return getattr, ("", "format")


def rewrite(code: CodeType, choose: Chooser) -> CodeType:
    """Return `code` with the probes that `choose` selects; code that already has probes is returned unchanged."""
    rewritten = bytecode.rewrite(code, lambda found: None if _has_probes(found) else choose(found), core.Probe)
    original_code.remember(rewritten, code)
    return rewritten


def names(module: str) -> bool:
    """Return whether the plan could match functions of this module, based only on its name.

    Modules that read bytecode also count, because they are changed too.
    """
    return _chooser is not None and (_chooser.names(module) or module in bytecode_libraries.READERS)


def rewrite_module(code: CodeType, module: str) -> CodeType:
    """Return the code of a module with the probes of the plan.

    Return `code` itself if the plan does not name the module or the code cannot be rewritten.
    """
    if _chooser is None or not names(module):
        return code
    try:
        code = bytecode_libraries.prepared(code, module)
        choose = _chooser.of_module(module, code.co_filename, just_loaded=True)
        return code if choose is None else rewrite(code, choose)
    except Exception as error:
        sites.note(f"{module} is not recorded: its code could not be rewritten ({type(error).__name__}: {error})")
        return code


def _wait_for_classes(chooser: PlanChooser) -> None:
    """Re-evaluate undecided rules when a module has been imported and its classes show their bases."""
    if chooser.asks_classes:
        from clew.instrument.adapters.patching import whenever_imported  # only plans with such filters need it

        whenever_imported(lambda name: chooser is _chooser and chooser.names(name), partial(_decide, chooser))


def _hook_generated_methods(chooser: PlanChooser) -> None:
    if chooser.writes:
        from clew.instrument.probes.install import generated_methods  # only plans with writes need it

        generated_methods.install(lambda: _chooser if _chooser is not None and _chooser.writes else None, rewrite)


def _decide(chooser: PlanChooser, module: ModuleType) -> None:
    from clew.instrument.probes.select.filters import undecided

    namespace = object.__getattribute__(module, "__dict__")
    name, file = namespace.get("__name__"), namespace.get("__file__")
    if name in undecided and type(file) is str:
        undecided.discard(name)
        choose = chooser.of_module(name, file)
        if choose is not None:
            rewrite_loaded({id(namespace): choose}, rewrite)


def _has_probes(code: CodeType) -> bool:
    probe: object = core.Probe
    return any(type(constant) is probe for constant in code.co_consts)


def _rewrite_loaded(chooser: PlanChooser) -> None:
    choosers = {}
    for name, file, namespace in loaded_modules():
        # `__main__` is the script that is about to run, or the launcher; `scripts` handles it.
        if name != "__main__" and chooser.names(name):
            choose = chooser.of_module(name, file)
            if choose is not None:
                choosers[namespace] = choose
    if choosers:
        try:
            rewrite_loaded(choosers, rewrite)
        except Exception as error:
            sites.note(f"modules imported early are not recorded ({type(error).__name__}: {error})")


def _disguised(function: Any, original: Any) -> Any:
    """Return `function` with frames that look like frames of `original`'s module; it must not use global names.

    So tracebacks omit these frames together with their callers, and debuggers that skip that module skip them.
    """
    code = original.__code__
    code = function.__code__.replace(co_filename=code.co_filename, co_name=code.co_name, co_qualname=code.co_qualname)
    disguised = FunctionType(code, original.__globals__, original.__name__, closure=function.__closure__)
    disguised.__doc__, disguised.__qualname__, disguised.__module__ = (
        original.__doc__,
        original.__qualname__,
        original.__module__,
    )
    return disguised


def _wrap_get_code(loader: Any) -> None:
    original, rewritten = loader.get_code, Quiet(_rewrite_imported)

    def get_code(self: Any, fullname: str) -> CodeType | None:
        code = original(self, fullname)
        found: CodeType | None = rewritten(code, fullname)
        return found or code

    loader.get_code = _disguised(get_code, original)


def _rewrite_imported(code: object, fullname: str) -> CodeType | None:
    return rewrite_module(code, fullname) if type(code) is CodeType else None
