"""The one place that picks what finds repetitions: walks in C, or none, and then their twins in Python.

`CLEW_KERNEL=python` asks for the latter. Invariant: both give the same.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clew.graph.kernel import CHOICE_VARIABLE

if TYPE_CHECKING:
    from clew.compare import _sequitur as walks
else:
    try:
        from clew.compare import _sequitur as walks
    except ImportError:  # no compiler was at hand
        walks = None

in_c = walks is not None and os.environ.get(CHOICE_VARIABLE, "") != "python"

__all__ = ["in_c", "walks"]
