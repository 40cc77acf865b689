"""The one place that picks a recorder: the C core, or its pure-Python twin where there is none.

`CLEW_RECORDER=python` asks for the twin; `c` is the default. Invariant: importing this never fails, and `reason` says why
it is the one it is.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.instrument.recorder.types import Recorder

CHOICE_VARIABLE = "CLEW_RECORDER"


def without_gil() -> bool:
    """Then nothing is recorded: neither recorder is made for threads that run at the same instant, nor is the rewriting of
    functions, and loading the C modules would switch the GIL on."""
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


def _choose(wanted: str) -> tuple[Recorder, str, str]:
    if wanted == "python":
        why = f"{CHOICE_VARIABLE}=python asks for it"
    elif without_gil():
        why = "this interpreter runs without the GIL, which recording relies on"
    else:
        try:
            from clew.instrument.recorder import _core
        except ImportError as error:
            why = (
                f"the C recorder cannot be loaded ({error}); for a fast one, reinstall clew where there is a C compiler"
            )
        else:
            return _core, "c", "the C recorder is built for this interpreter"
    from clew.instrument.recorder import reference

    return reference, "python", why


core, implementation, reason = _choose(os.environ.get(CHOICE_VARIABLE, ""))
native: Any = core if implementation == "c" else None
"""The C core where it records, for what only it has: operands, and hooks in C types (`_core.pyi`)."""
