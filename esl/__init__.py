"""ESL, the language of specs: grammar, tree, checker, lowering to a probe plan."""

from clew.esl.compile import Compiled, compile_file, compile_text
from clew.esl.problem import EslProblem, SpecError
from clew.esl.span import Span

__all__ = ["Compiled", "EslProblem", "Span", "SpecError", "compile_file", "compile_text"]
