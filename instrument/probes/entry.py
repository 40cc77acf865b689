"""Records the main script of `python app.py`, which is run without being imported.

Invariant: the hook that waits for the script takes itself out when the script begins, so that nothing stays slower. Code
that came by `-c` or standard input has no file to show and is left alone; `python -m` and folders are imported, see
`import_hook`.
"""

from __future__ import annotations

import os
import sys
from types import CodeType

from clew.instrument.probes import import_hook, sites


def main_script() -> str | None:
    """Absolute path of the script this process is about to run; None when what it runs is no plain file."""
    arguments = list(sys.argv)
    if not arguments or arguments[0] in ("", "-", "-c", "-m"):
        return None
    path = os.path.abspath(arguments[0])
    return path if os.path.isfile(path) else None


def install() -> bool:
    """Waits for the main script, if there is one. False, with a note in the trace, when that takes the C module.

    To be called after `import_hook.install`, before the script begins.
    """
    script = main_script()
    if script is None:
        return True
    try:
        from clew.instrument.probes import _entry
    except ImportError as error:
        sites.note(
            f"{script}: its own functions are not recorded, only those of modules it imports ({error}); "
            "reinstall clew where there is a C compiler"
        )
        return False
    _entry.watch_main(lambda code: _offered(code, script))
    return True


def _offered(code: CodeType, script: str) -> CodeType | None:
    """The script's code rewritten; None for the code of any other module."""
    if os.path.realpath(code.co_filename) != os.path.realpath(script):
        return None
    return import_hook.rewrite_module(code, import_hook.module_of_script(script))
