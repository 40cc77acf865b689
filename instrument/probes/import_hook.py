"""Rewrites modules as they are imported, after the interpreter has read, compiled and cached them as ever.

The place is `get_code` of the interpreter's own loaders for source and bytecode files, which plain imports, subclasses of
these loaders, `python -m`, `runpy` and modules loaded from a file by hand all go through. So finders, loaders, specs,
`__file__`, cached files and resources are what they are without clew, and nothing is imported for the program's sake.
Zip archives and frozen modules are left alone; for scripts see `entry`.

Invariant: what goes wrong in here leaves the module as it was and a note in the trace.
"""

from __future__ import annotations

import copyreg
import importlib.machinery
from collections.abc import Callable
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any

from clew.instrument.probes import bytecode, form, instructions, originals, readers, running, sites
from clew.instrument.probes.bytecode import Chooser
from clew.instrument.probes.chooser import PlanChooser
from clew.instrument.probes.loaded import loaded_modules, rewrite_loaded
from clew.instrument.probes.quiet import Quiet
from clew.instrument.recorder.select import core
from clew.records.plan import Plan

_chooser: PlanChooser | None = None
_hooked = False


def install(plan: Plan) -> bool:
    """Records by `plan` from here on, in modules imported before as well. False when this interpreter is too new."""
    global _chooser
    if not instructions.SUPPORTED:
        version = ".".join(map(str, instructions.VERSION))
        sites.note(
            f"functions are not recorded: this clew rewrites the bytecode of Python 3.11 to 3.13, not of {version}"
        )
        return False
    _chooser = PlanChooser(plan)
    _hook_imports()
    _wait_for_classes(_chooser)
    _rewrite_loaded(_chooser)
    readers.prepare_loaded()
    return True


def _hook_imports() -> None:
    global _hooked
    if _hooked:
        return
    _hooked = True
    copyreg.pickle(core.Probe, form.pickled)  # type: ignore[arg-type]  # it is a class in both recorders
    copyreg.pickle(Quiet, _pickled_action)  # type: ignore[arg-type]  # what is unpickled is another thing
    for loader in (importlib.machinery.SourceFileLoader.__mro__[2], importlib.machinery.SourcelessFileLoader):
        _wrap_get_code(loader)


def switch(plan: Plan | None, leave: Callable[[CodeType], bool]) -> running.Switched:
    """Records by `plan` from here on, in functions that are there, running or not, as well; by None, nothing.

    For a program that is under way and was made ready for it (`originals`). Functions whose code `leave` names stay as they
    are.
    """
    global _chooser
    if plan is not None and not instructions.SUPPORTED:
        install(plan)
        return running.Switched(0, (), ())
    previous, _chooser = _chooser, PlanChooser(plan) if plan is not None else None
    if _chooser is not None:
        _hook_imports()
        _wait_for_classes(_chooser)
        readers.prepare_loaded()
    return running.switch(_chooser, previous, rewrite, _site_in, leave)


def _site_in(code: CodeType) -> int:
    probe: object = core.Probe
    for constant in code.co_consts:
        if type(constant) is probe:
            return int(constant.site)
    return 0


def _pickled_action(_: object) -> tuple[object, ...]:
    """What takes any arguments and does nothing with them."""
    return getattr, ("", "format")


def rewrite(code: CodeType, choose: Chooser) -> CodeType:
    """`code` with the probes that `choose` wants; as it is when it has probes already."""
    rewritten = bytecode.rewrite(code, lambda found: None if _has_probes(found) else choose(found), core.Probe)
    originals.remember(rewritten, code)
    return rewritten


def names(module: str) -> bool:
    """Could the plan choose functions of this module, judging by its name alone? Those that read bytecode are changed, too."""
    return _chooser is not None and (_chooser.names(module) or module in readers.READERS)


def rewrite_module(code: CodeType, module: str) -> CodeType:
    """The code of a module by the plan; `code` itself when the plan does not name it or it cannot be rewritten."""
    if _chooser is None or not names(module):
        return code
    try:
        code = readers.prepared(code, module)
        choose = _chooser.of_module(module, code.co_filename, just_loaded=True)
        return code if choose is None else rewrite(code, choose)
    except Exception as error:
        sites.note(f"{module} is not recorded: its code could not be rewritten ({type(error).__name__}: {error})")
        return code


def _wait_for_classes(chooser: PlanChooser) -> None:
    """Where the source does not tell what a class descends from, the class itself does, once its module is imported."""
    if chooser.asks_classes:
        from clew.instrument.adapters.patching import whenever_imported  # which plans without such filters do without

        whenever_imported(lambda name: chooser is _chooser and chooser.names(name), partial(_decide, chooser))


def _decide(chooser: PlanChooser, module: ModuleType) -> None:
    from clew.instrument.probes.filtered import undecided

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
        # `__main__` is what is about to run, or the launcher; the entry hook names it.
        if name != "__main__" and chooser.names(name):
            choose = chooser.of_module(name, file)
            if choose is not None:
                choosers[namespace] = choose
    if choosers:
        try:
            rewrite_loaded(choosers, rewrite)
        except Exception as error:
            sites.note(f"modules imported early are not recorded ({type(error).__name__}: {error})")


def _posing(function: Any, original: Any) -> Any:
    """`function`, which refers to no global name, with frames that pass for those of `original`'s module.

    So tracebacks leave them out along with their callers, and debuggers that skip that module skip them.
    """
    code = original.__code__
    code = function.__code__.replace(co_filename=code.co_filename, co_name=code.co_name, co_qualname=code.co_qualname)
    posing = FunctionType(code, original.__globals__, original.__name__, closure=function.__closure__)
    posing.__doc__, posing.__qualname__, posing.__module__ = (
        original.__doc__,
        original.__qualname__,
        original.__module__,
    )
    return posing


def _wrap_get_code(loader: Any) -> None:
    original, rewritten = loader.get_code, Quiet(_rewrite_imported)

    def get_code(self: Any, fullname: str) -> CodeType | None:
        code = original(self, fullname)
        found: CodeType | None = rewritten(code, fullname)
        return found or code

    loader.get_code = _posing(get_code, original)


def _rewrite_imported(code: object, fullname: str) -> CodeType | None:
    return rewrite_module(code, fullname) if type(code) is CodeType else None
