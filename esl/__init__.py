"""ESL, the language of specs: grammar, syntax tree, checker, and lowering to a probe plan.

Names load on first use. If the package imported its modules during its own import, two threads could deadlock: one
importing a module, one importing the package. Python then gives one of them a half-initialized module.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clew.esl.index.index import SourceIndex
    from clew.esl.lower.compile import Checked, Compiled, check, compile_file, compile_text
    from clew.esl.syntax.problem import EslProblem, SpecError, render, render_all
    from clew.esl.syntax.span import Span

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
    **dict.fromkeys(("Checked", "Compiled", "check", "compile_file", "compile_text"), "lower.compile"),
    "SourceIndex": "index.index",
    **dict.fromkeys(("EslProblem", "SpecError", "render", "render_all"), "syntax.problem"),
    "Span": "syntax.span",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'clew.esl' has no attribute {name!r}; it has {', '.join(sorted(_MODULES))}")
    value = getattr(importlib.import_module(f"clew.esl.{_MODULES[name]}"), name)
    globals()[name] = value
    return value
