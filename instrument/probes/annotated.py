"""How functions annotate their parameters, as their source says it: the code of a function does not know.

Invariant: a function is left out only for an annotation that its source has; without source, or annotation, it fits.
"""

from __future__ import annotations

import functools
import warnings
from types import CodeType

from clew.records.plan import Rule


def fits(rule: Rule, code: CodeType, file: str) -> bool:
    """Does `code`, of `file`, annotate no parameter otherwise than the rule says?"""
    written = _annotations(file).get((code.co_firstlineno, code.co_name), ())
    known = dict(zip(code.co_varnames, written, strict=False))
    return all(known.get(name) in (None, "", annotation) for name, annotation in rule.types)


@functools.lru_cache(maxsize=64)
def _annotations(file: str) -> dict[tuple[int, str], tuple[str, ...]]:
    """By a function's first line, that of its first decorator, and its name: what its parameters are annotated with, in the
    order of its code; "" for nothing."""
    import ast  # which few plans need

    try:
        with open(file, "rb") as source, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.read(), file)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            of = node.args
            arguments = [*of.posonlyargs, *of.args, *of.kwonlyargs]
            arguments += [each for each in (of.vararg, of.kwarg) if each is not None]
            line = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            written = (ast.unparse(each.annotation) if each.annotation is not None else "" for each in arguments)
            found[line, node.name] = tuple(written)
    return found
