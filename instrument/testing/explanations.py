"""Mark the calls that only explain a failed assertion: pytest formats the values, which calls methods of the program.

Without the mark, a `__repr__` that no passing test calls would look like the reason of every failure. Invariant: the
explanation is unchanged, and a version of pytest without these functions only lacks the mark.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest
from _pytest.assertion import rewrite

from clew.instrument.probes.sites import register
from clew.instrument.recorder.core import core
from clew.records.format.event import Kind

NAME = "explanation"
_FUNCTIONS = ("_saferepr", "_format_assertmsg", "_call_reprcompare")
"""The functions of pytest that rewritten assertions call after they failed."""


def mark_explanations() -> None:
    """Record pytest's formatting of failed assertions as calls of `pytest:explanation`."""
    for name in _FUNCTIONS:
        original: Any = getattr(rewrite, name, None)
        if callable(original) and not hasattr(original, "clew_original"):
            setattr(rewrite, name, _marked(original))


def _marked(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def explain(*arguments: Any, **named: Any) -> Any:
        __tracebackhide__ = True
        if not core.active():
            return original(*arguments, **named)
        site = _site()
        core.Probe(site, Kind.ENTER)()
        try:
            return original(*arguments, **named)
        finally:
            core.Probe(site, Kind.EXIT)()

    explain.clew_original = original  # type: ignore[attr-defined]
    return explain


@functools.cache
def _site() -> int:
    return register("pytest", NAME, pytest.__file__, 1, 1, "annotation")
