"""Rewrites modules as they are imported, after the interpreter has read, compiled and cached them as ever.

The place is `get_code` of the interpreter's own loaders for source and bytecode files, which plain imports, subclasses of
these loaders, `python -m`, `runpy` and modules loaded from a file by hand all go through. So finders, loaders, specs,
`__file__`, cached files and resources are what they are without clew, and nothing is imported for the program's sake.
Zip archives, frozen modules and `exec` are left alone.

Invariant: what goes wrong in here leaves the module as it was and a note in the trace.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Callable
from types import CodeType, ModuleType
from typing import Any

from clew.instrument.probes import bytecode, instructions, sites
from clew.instrument.probes.bytecode import Chooser
from clew.instrument.probes.chooser import PlanChooser
from clew.instrument.probes.loaded import loaded_modules, rewrite_loaded
from clew.instrument.recorder.select import core
from clew.records.plan import Plan

_chooser: PlanChooser | None = None
_waiting: dict[str, Callable[[ModuleType], None]] = {}
"""What to change in modules of others, by name, once they are imported."""


def install(plan: Plan) -> bool:
    """Records by `plan` from here on, in modules imported before as well. False when this interpreter is too new."""
    global _chooser
    if not instructions.SUPPORTED:
        version = ".".join(map(str, instructions.VERSION))
        sites.note(
            f"functions are not recorded: this clew rewrites the bytecode of Python 3.11 to 3.13, not of {version}"
        )
        return False
    first, _chooser = _chooser is None, PlanChooser(plan)
    if first:
        for loader in (importlib.machinery.SourceFileLoader.__mro__[2], importlib.machinery.SourcelessFileLoader):
            _wrap_get_code(loader)
        _waiting.update({"runpy": _wrap_run_path, "_pytest.assertion.rewrite": _wrap_pytest})
    _rewrite_loaded(_chooser)
    return True


def rewrite(code: CodeType, choose: Chooser) -> CodeType:
    """`code` with the probes that `choose` wants; as it is when it has probes already."""
    return bytecode.rewrite(code, lambda found: None if _has_probes(found) else choose(found), core.Probe)


def rewrite_module(code: CodeType, module: str) -> CodeType:
    """The code of a module by the plan; `code` itself when the plan does not name it or it cannot be rewritten."""
    if _chooser is None or not _chooser.names(module):
        return code
    try:
        choose = _chooser.of_module(module, code.co_filename)
        return code if choose is None else rewrite(code, choose)
    except Exception as error:
        sites.note(f"{module} is not recorded: its code could not be rewritten ({type(error).__name__}: {error})")
        return code


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


def _posing(function: Any, file: str, name: str) -> Any:
    """`function` with frames that pass for `file`'s own, so that tracebacks leave them out along with their callers."""
    function.__code__ = function.__code__.replace(co_filename=file, co_name=name, co_qualname=name)
    return function


def _wrap_get_code(loader: Any) -> None:
    original = loader.get_code

    def get_code(self: Any, fullname: str) -> CodeType | None:
        code: CodeType | None = original(self, fullname)
        if fullname == "multiprocessing.spawn":
            import runpy  # noqa: F401  # which that module imports next, and uses before anything else is imported
        if _waiting:
            _change_others()
        return rewrite_module(code, fullname) if type(code) is CodeType else code

    get_code.__doc__ = original.__doc__
    get_code.__qualname__, get_code.__module__ = original.__qualname__, original.__module__
    loader.get_code = _posing(get_code, original.__code__.co_filename, "get_code")


def _change_others() -> None:
    for name in [name for name in _waiting if name in sys.modules]:
        try:
            _waiting.pop(name)(sys.modules[name])
        except Exception as error:
            sites.note(f"what {name} loads is not recorded ({type(error).__name__}: {error})")


def _wrap_run_path(runpy: Any) -> None:
    """`runpy.run_path`, by which the children of multiprocessing's spawn method read the main script."""
    original = runpy._get_code_from_file

    def get_code_from_file(*arguments: Any) -> Any:
        found = original(*arguments)
        module = os.path.splitext(os.path.basename(os.fsdecode(arguments[-1])))[0]
        if type(found) is tuple:
            return (rewrite_module(found[0], module), *found[1:])
        return rewrite_module(found, module)

    runpy._get_code_from_file = _posing(get_code_from_file, original.__code__.co_filename, original.__name__)


def _wrap_pytest(module: Any) -> None:
    """pytest's loader of test modules compiles and caches them itself, and runs them by `exec`: ours stands before it."""

    def run(code: object, namespace: dict[str, Any]) -> None:
        name = namespace.get("__name__")
        if type(code) is CodeType and type(name) is str:
            code = rewrite_module(code, name)
        exec(code, namespace)  # type: ignore[arg-type]  # whatever pytest gave us

    loader = module.AssertionRewritingHook.exec_module
    module.exec = _posing(run, loader.__code__.co_filename, loader.__name__)
