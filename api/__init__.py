"""clew: why did this happen? `clew.open()` reads a recorded run; `clew.scope`, `clew.use` and `clew.mark` annotate by hand;
`clew.control()` lets `clew attach` record the process while it runs.

Names load on first use, so that a traced program that annotates by hand loads only `clew.instrument`.

PYTEST_DONT_REWRITE: a recorded pytest finds this package imported already, and would warn that it is too late to rewrite
its asserts.
"""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.graph.query import Run as Run
    from clew.graph.query import open_run as open
    from clew.instrument.annotate import extract as extract
    from clew.instrument.annotate import inject as inject
    from clew.instrument.annotate import mark as mark
    from clew.instrument.annotate import scope as scope
    from clew.instrument.annotate import send as send
    from clew.instrument.annotate import use as use
    from clew.instrument.control import control as control

__version__ = "0.1.0"

_NAMES = {
    "open": ("clew.graph.query", "open_run"),
    "Run": ("clew.graph.query", "Run"),
    "control": ("clew.instrument.control", "control"),
    **{name: ("clew.instrument.annotate", name) for name in ("scope", "send", "use", "mark", "inject", "extract")},
}
__all__ = ["Run", "control", "extract", "inject", "mark", "open", "scope", "send", "use"]


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module 'clew' has no attribute {name!r}; it has {', '.join(sorted(_NAMES))}")
    module, attribute = _NAMES[name]
    value = _loaded(module, attribute)
    if module == "clew.graph.query":
        _provide_comparisons()
    globals()[name] = value
    return value


_COMPARISONS = {
    "diff": ("clew.compare.mutations", "compare"),
    "localize": ("clew.compare.suspects", "localize"),
    "patterns": ("clew.compare.patterns", "find_patterns"),
}
"""What the query API reaches in the room above it, by the name of the question."""


def _provide_comparisons() -> None:
    provide = _loaded("clew.graph.comparing", "provide")
    for question, (module, attribute) in _COMPARISONS.items():
        provide(question, functools.partial(_loaded, module, attribute))


def _loaded(module: str, attribute: str) -> Any:
    return getattr(importlib.import_module(module), attribute)
