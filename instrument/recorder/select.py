"""The one place that picks a recorder: the C core, or its pure-Python twin where there is none.

`CLEW_RECORDER=c|python` asks for one. Invariant: importing this never fails; `reason` says why it is the one it is.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clew.instrument.recorder.types import Recorder

CHOICE_VARIABLE = "CLEW_RECORDER"


def _choose(wanted: str) -> tuple[Recorder, str, str]:
    from clew.instrument.recorder import reference

    if wanted == "python":
        return reference, "python", f"{CHOICE_VARIABLE}=python asks for it"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return reference, "python", "this interpreter runs without the GIL, which the C recorder relies on"
    try:
        from clew.instrument.recorder import _core
    except ImportError as error:
        why = f"the C recorder is not available ({error})"
        if wanted == "c":
            why += f", although {CHOICE_VARIABLE}=c asks for it"
        return reference, "python", why + "; recording is slower: install a C compiler and reinstall clew"
    if wanted == "c":
        return _core, "c", f"{CHOICE_VARIABLE}=c asks for it"
    return _core, "c", "the C recorder is built for this interpreter"


core, implementation, reason = _choose(os.environ.get(CHOICE_VARIABLE, ""))
