"""Find the expression under the cursor whose value can be asked about."""

from __future__ import annotations

import ast
import warnings

_VALUES = (ast.Name, ast.Attribute, ast.Subscript, ast.Call)


def expression_at(text: str, line: int, column: int) -> str:
    """Return the source of the name, attribute, item or call at a line (from 1) and a column (from 0, in characters).

    A cursor on the name of a called function means the call. Return "" if there is none, or the text does not parse.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return ""
    at = (line, len(lines[line - 1][:column].encode("utf-8", "surrogatepass")))
    around = [node for node in ast.walk(tree) if isinstance(node, _VALUES) and _holds(node, at)]
    # `walk` goes from the outside to the inside.
    if not around:
        return ""
    found: ast.expr = around[-1]
    for outer in reversed(around):
        if isinstance(outer, ast.Call) and outer.func is found:
            found = outer
    return ast.get_source_segment(text, found) or ""


def _holds(node: ast.expr, at: tuple[int, int]) -> bool:
    end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return (node.lineno, node.col_offset) <= at <= end
