"""ESL, the language of specs: grammar, tree, checker, lowering to a probe plan.

Names load on first use. Were the package to import its modules while it is imported itself, a thread that asks for one of
them and another that asks for the package would wait for each other, and Python would give one of them half a module.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.esl.compile import Checked, Compiled, check, compile_file, compile_text
    from clew.esl.index import SourceIndex
    from clew.esl.problem import EslProblem, SpecError, render, render_all
    from clew.esl.span import Span

__all__ = [
    "Checked",
    "Compiled",
    "EslProblem",
    "SourceIndex",
    "Span",
    "SpecError",
    "check",
    "compile_file",
    "compile_text",
    "render",
    "render_all",
]

_MODULES = {
    **dict.fromkeys(("Checked", "Compiled", "check", "compile_file", "compile_text"), "compile"),
    "SourceIndex": "index",
    **dict.fromkeys(("EslProblem", "SpecError", "render", "render_all"), "problem"),
    "Span": "span",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'clew.esl' has no attribute {name!r}; it has {', '.join(sorted(_MODULES))}")
    value = getattr(importlib.import_module(f"clew.esl.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
