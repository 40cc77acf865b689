"""Records scripts, which are run without being imported: the main script, and what a tool or the program executes from a file.

The main script of `python app.py` is met by a frame evaluation hook. What a debugger, a profiler or coverage runs, the tests
that pytest rewrites, `runpy.run_path` (by which multiprocessing's children read their main script) and a program's own
`exec` of a file all go through `exec`, which here executes the rewritten code instead.

Invariant: the hook that waits for the main script takes itself out when the script begins, so that nothing stays slower.
Code that came by `-c`, standard input or from a string has no file to show and is left alone; `python -m` and folders are
imported, see `import_hook`.
"""

from __future__ import annotations

import os
import sys
from types import CodeType
from typing import Any

from clew.instrument.probes import import_hook, sites
from clew.instrument.probes.module_names import module_name, stem


def main_script() -> str | None:
    """Absolute path of the script this process is about to run; None when what it runs is no plain file, or has begun."""
    arguments = list(sys.argv)
    if not arguments or arguments[0] in ("", "-", "-c", "-m") or hasattr(sys.modules.get("__main__"), "__file__"):
        return None
    path = os.path.abspath(arguments[0])
    return path if os.path.isfile(path) else None


def install() -> bool:
    """Waits for scripts. False, with a note in the trace, when that takes the C module, which is not there.

    To be called after `import_hook.install`, before the main script begins.
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
    """The script's code rewritten; None for the code of any other module."""
    if os.path.realpath(code.co_filename) != os.path.realpath(script):
        return None
    return import_hook.rewrite_module(code, stem(script))


def _executed(code: CodeType, namespace: dict[str, Any]) -> CodeType | None:
    """The code of a script that is about to be executed, rewritten; None for what no rule names and what has no file."""
    if type(namespace.get("__name__")) is not str:
        return None
    name = module_name(namespace, code.co_filename)
    if not import_hook.names(name) or not os.path.isfile(code.co_filename):
        return None
    return import_hook.rewrite_module(code, name)
