"""Load the recorder's C core (`_core.pyi`).

Invariant: importing this module never fails. If the core cannot be loaded, `unavailable` contains the reason, and `core`
does not record.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

__all__ = ["core", "unavailable", "without_gil"]


def without_gil() -> bool:
    """Return whether this interpreter runs without the GIL, in which case it is not recorded.

    Neither the recorder nor the rewriting of functions supports parallel threads, and loading the core would enable the GIL.
    """
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


unavailable = ""
"""The reason why this process cannot be recorded, or ""."""

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
