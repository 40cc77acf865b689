"""The one place that picks the structure plane's kernel: C, or its numpy twin where there is none.

`CLEW_KERNEL=python` asks for the twin. Invariant: both give the same bytes, and `reason` says why it is the one it is.
"""

from __future__ import annotations

import os
from types import ModuleType

from clew.graph import kernel_reference

CHOICE_VARIABLE = "CLEW_KERNEL"


def _choose(wanted: str) -> tuple[ModuleType, str, str]:
    if wanted == "python":
        return kernel_reference, "python", f"{CHOICE_VARIABLE}=python asks for it"
    try:
        from clew.graph import _kernel
    except ImportError as error:
        why = f"the C kernel cannot be loaded ({error}); for a fast one, reinstall clew where there is a C compiler"
        return kernel_reference, "python", why
    return _kernel, "c", "the C kernel is built for this interpreter"


kernel, implementation, reason = _choose(os.environ.get(CHOICE_VARIABLE, ""))
