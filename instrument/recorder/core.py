"""Loads the recorder's C core (`_core.pyi`).

Invariant: importing this module never fails. Where the core cannot be loaded, `unavailable` says why, and `core` records
nothing.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

__all__ = ["core", "unavailable", "without_gil"]


def without_gil() -> bool:
    """Does this interpreter run without the GIL? Then nothing is recorded: neither the recorder nor the rewriting of functions
    is made for threads that run at the same instant, and loading the core would switch the GIL on."""
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


unavailable = ""
"""Why this process cannot be recorded; "" when it can."""

if TYPE_CHECKING:
    from clew.instrument.recorder import _core as core
elif without_gil():
    from clew.instrument.recorder import absent as core

    unavailable = "it runs without the GIL, which recording relies on; PYTHON_GIL=1 in its environment switches it on"
else:
    try:
        from clew.instrument.recorder import _core as core
    except ImportError as error:
        from clew.instrument.recorder import absent as core
        from clew.records.extensions import how_to_install

        unavailable = how_to_install("clew.instrument.recorder._core", error)
