"""The one place that picks what makes graphs of records: walks in C, or none, and then their twins in numpy.

`CLEW_KERNEL=python` asks for the latter. Invariant: both give equal graphs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clew.graph.kernel import CHOICE_VARIABLE

if TYPE_CHECKING:
    from clew.graph import _ingest as walks
else:
    try:
        from clew.graph import _ingest as walks
    except ImportError:  # no compiler was at hand
        walks = None

in_c = walks is not None and os.environ.get(CHOICE_VARIABLE, "") != "python"

__all__ = ["in_c", "walks"]
