"""ESL, the language of specs: grammar, tree, checker, lowering to a probe plan."""

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
