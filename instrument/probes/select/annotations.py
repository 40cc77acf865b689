"""Read the parameter annotations of functions from their source, because code objects do not contain them.

Invariant: a function is excluded only because of an annotation in its source; without source or annotation, it
matches.
"""

from __future__ import annotations

import functools
import warnings
from types import CodeType

from clew.records.plan.plan import Rule


def fits(rule: Rule, code: CodeType, file: str) -> bool:
    """Return whether all parameters that `code` of `file` annotates have the annotations of the rule."""
    written = _annotations(file).get((code.co_firstlineno, code.co_name), ())
    known = dict(zip(code.co_varnames, written, strict=False))
    return all(known.get(name) in (None, "", annotation) for name, annotation in rule.types)


@functools.lru_cache(maxsize=64)
def _annotations(file: str) -> dict[tuple[int, str], tuple[str, ...]]:
    """Return the parameter annotations of each function by its first line and name; "" for no annotation.

    The first line is the line of the first decorator. The parameters have the order of the function's code.
    """
    import ast  # only a few plans need it

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
