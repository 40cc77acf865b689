"""clew: why did this happen? `clew.open()` reads a recorded run; `clew.scope`, `clew.use` and `clew.mark` annotate by hand;
`clew.control()` lets `clew attach` record the process while it runs.

Names load on first use, so that a traced program that annotates by hand loads only `clew.instrument`.

PYTEST_DONT_REWRITE: a recorded pytest finds this package imported already, and would warn that it is too late to rewrite
its asserts.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.instrument.annotate import extract as extract
    from clew.instrument.annotate import inject as inject
    from clew.instrument.annotate import mark as mark
    from clew.instrument.annotate import scope as scope
    from clew.instrument.annotate import send as send
    from clew.instrument.annotate import use as use
    from clew.instrument.attach.signal_handler import control as control
    from clew.query.api import Run as Run
    from clew.query.api import open_run as open

__version__ = "0.1.0"

_NAMES = {
    "open": ("clew.query.api", "open_run"),
    "Run": ("clew.query.api", "Run"),
    "control": ("clew.instrument.attach.signal_handler", "control"),
    **{name: ("clew.instrument.annotate", name) for name in ("scope", "send", "use", "mark", "inject", "extract")},
}
__all__ = ["Run", "control", "extract", "inject", "mark", "open", "scope", "send", "use"]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'clew' has no attribute {name!r}; it has {', '.join(sorted(_NAMES))}")
    module, attribute = _NAMES[name]
    try:
        value = getattr(importlib.import_module(module), attribute)
    except ImportError:
        from clew.records.extensions import missing

        if absent := missing():
            raise ImportError(f"clew: {absent}") from None
        raise
    globals()[name] = value
    return value
