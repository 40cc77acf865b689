"""Record scripts that run without an import: the main script, and files that a tool or the program executes.

A frame evaluation hook detects the main script of `python app.py`. Other scripts run through `exec`, which a hook
replaces to execute the rewritten code. This covers scripts run by a debugger, a profiler or coverage, tests rewritten
by pytest, `runpy.run_path` (which children of multiprocessing use to read their main script) and the program's own
`exec` of a file.

Invariant: the hook for the main script removes itself when the script begins, so that it causes no lasting slowdown.
Code from `-c`, standard input or a string has no file to display and is left unchanged. `python -m` and folders are
imported, see `import_hook`.
"""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import Any

from clew.instrument.probes import sites
from clew.instrument.probes.install import import_hook
from clew.instrument.probes.select.module_names import module_name, stem


def main_script() -> str | None:
    """Return the absolute path of the script that this process is about to run.

    Return None if the script is not a plain file or has already begun.
    """
    arguments = list(sys.argv)
    if not arguments or arguments[0] in ("", "-", "-c", "-m") or hasattr(sys.modules.get("__main__"), "__file__"):
        return None
    path = os.path.abspath(arguments[0])
    return path if os.path.isfile(path) else None


def install() -> bool:
    """Install the hooks for scripts. Without the required C module, write a note to the trace and return False.

    Call this function after `import_hook.install` and before the main script begins.
    """
    script = main_script()
    try:
        from clew.instrument.probes import _entry
    except ImportError as error:
        sites.note(
            f"functions of scripts are not recorded, only those of modules they import ({error}); "
            "reinstall clew where there is a C compiler"
        )
        return False
    _entry.watch_exec(_executed)
    if script is not None:
        _entry.watch_main(lambda code: _offered(code, script))
    return True


def _offered(code: CodeType, script: str) -> CodeType | None:
    """Return the rewritten code of the script; None for the code of other modules."""
    if os.path.realpath(code.co_filename) != os.path.realpath(script):
        return None
    return import_hook.rewrite_module(code, stem(script))


def _executed(code: CodeType, namespace: dict[str, Any]) -> CodeType | None:
    """Return the rewritten code of a script that is about to run; None if no rule names it or it has no file."""
    if type(namespace.get("__name__")) is not str:
        return None
    name = module_name(namespace, code.co_filename)
    if not import_hook.names(name) or not os.path.isfile(code.co_filename):
        return None
    return import_hook.rewrite_module(code, name)
