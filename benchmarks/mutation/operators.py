"""The mutation operators: small edits of functions that keep the number of lines.

Only the bodies of functions are mutated: not their signatures, decorators, annotations and docstrings.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from dataclasses import dataclass

KINDS = (
    "comparison", "arithmetic", "boolean", "not", "off by one", "constant", "attribute", "argument order", "argument",
    "deleted",
)  # fmt: skip
DELETED = "deleted"

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Edit:
    kind: str
    line: int
    """The first line of what is replaced."""
    start: int
    end: int
    """Offsets in bytes of the UTF-8 source."""
    old: str
    new: str
    function: str
    """The qualified name of the innermost function, as Python names it, with `<locals>`."""

    def apply(self, source: bytes) -> bytes:
        """Return the mutated source. Raise `ValueError` if the source is not the one that the edit was made for."""
        if source[self.start : self.end] != self.old.encode():
            raise ValueError(f"line {self.line} does not contain {self.old!r}")
        return source[: self.start] + self.new.encode() + source[self.end :]


def edits(source: str, chance: random.Random) -> list[Edit]:
    """Return all edits of a module that compile. Raise `SyntaxError` if the source has errors."""
    data = source.encode()
    found = _Finder(data, chance).edits(ast.parse(source))
    return [edit for edit in found if _compiles(edit.apply(data))]


def functions(source: str) -> list[tuple[int, int, str]]:
    """Return first line (of the `def`), last line and qualified name of each function of a module."""
    return [
        (node.lineno, node.end_lineno or node.lineno, name) for node, name, _ in _functions(ast.parse(source), "", None)
    ]


def innermost(found: list[tuple[int, int, str]], line: int) -> str | None:
    """Return the qualified name of the innermost of these functions with a line; None outside of functions."""
    around = [one for one in found if one[0] <= line <= one[1]]
    return max(around)[2] if around else None


def _functions(
    node: ast.AST, prefix: str, owner: ast.ClassDef | None
) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str, ast.ClassDef | None]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            name = prefix + child.name
            yield child, name, owner
            yield from _functions(child, f"{name}.<locals>.", owner)
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.", child)
        else:
            yield from _functions(child, prefix, owner)


def _compiles(source: bytes) -> bool:
    try:
        compile(source, "mutant", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


class _Finder:
    def __init__(self, source: bytes, chance: random.Random) -> None:
        self.source = source
        self.chance = chance
        self.offsets = [0]
        for line in source.splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(line))

    def edits(self, tree: ast.Module) -> Iterator[Edit]:
        for function, name, owner in _functions(tree, "", None):
            attributes = _attributes(owner) if owner is not None else []
            for statement in function.body:
                for node in _own_nodes(statement):
                    for kind, new in self._of(node, attributes):
                        yield self._edit(kind, node, new, name)

    def _edit(self, kind: str, node: ast.expr | ast.stmt, new: str, function: str) -> Edit:
        start = self.offsets[node.lineno - 1] + node.col_offset
        end = self.offsets[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        old = self.source[start:end].decode()
        lost = "\n" * (old.count("\n") - new.count("\n"))
        text = (
            new + lost if isinstance(node, ast.stmt) else f"({new}{lost})" if lost or _needs_parentheses(node) else new
        )
        return Edit(kind, node.lineno, start, end, old, text, function)

    def _of(self, node: ast.AST, attributes: list[str]) -> Iterator[tuple[str, str]]:
        """Yield the kind and the new text of each edit of one node."""
        changed = copy.deepcopy(node)
        match node, changed:
            case ast.Compare(ops=[operator]), ast.Compare() if type(operator) in COMPARISONS:
                changed.ops = [COMPARISONS[type(operator)]()]
                yield "comparison", ast.unparse(changed)
            case ast.BinOp(), ast.BinOp() if type(node.op) in ARITHMETIC and not _is_text(node.left):
                changed.op = ARITHMETIC[type(node.op)]()
                yield "arithmetic", ast.unparse(changed)
            case ast.BoolOp(), ast.BoolOp():
                changed.op = ast.And() if isinstance(node.op, ast.Or) else ast.Or()
                yield "boolean", ast.unparse(changed)
            case ast.UnaryOp(op=ast.Not()), _:
                yield "not", ast.unparse(node.operand)
            case ast.Constant(), _ if type(node.value) is int:
                yield "off by one", repr(node.value + 1)
            case ast.Constant(), _ if type(node.value) is bool:
                yield "constant", repr(not node.value)
            case ast.Attribute(value=ast.Name(id="self")), _:
                others = [name for name in attributes if name != node.attr]
                if others:
                    yield "attribute", f"self.{self.chance.choice(others)}"
            case ast.Call(), ast.Call() if len(node.args) > 1 and not any(
                isinstance(one, ast.Starred) for one in node.args
            ):
                changed.args[0], changed.args[1] = changed.args[1], changed.args[0]
                yield "argument order", ast.unparse(changed)
            case ast.Call(keywords=[*_, ast.keyword(arg=str())]), ast.Call():
                changed.keywords.pop()
                yield "argument", ast.unparse(changed)
        if _is_deletable(node):
            yield DELETED, "pass"


def _own_nodes(statement: ast.stmt) -> Iterator[ast.expr | ast.stmt]:
    """Yield the nodes of a statement in its function: without those of nested functions and classes, and annotations."""
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        return
    todo: list[ast.AST] = [statement]
    while todo:
        node = todo.pop(0)
        if isinstance(node, (ast.expr, ast.stmt)):
            yield node
        for name, value in ast.iter_fields(node):
            if name == "annotation":
                continue
            for child in value if isinstance(value, list) else [value]:
                # Parts of an f-string have no places of their own in the source before Python 3.12.
                if isinstance(child, ast.AST) and not isinstance(child, (*_FUNCTIONS, ast.ClassDef, ast.JoinedStr)):
                    todo.append(child)


def _attributes(owner: ast.ClassDef) -> list[str]:
    return sorted(
        {
            node.attr
            for node in ast.walk(owner)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
        }
    )


def _needs_parentheses(node: ast.AST) -> bool:
    return isinstance(node, (ast.Compare, ast.BinOp, ast.BoolOp, ast.UnaryOp))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)))


def _is_deletable(node: ast.AST) -> bool:
    match node:
        case ast.AugAssign() | ast.Delete() | ast.Continue() | ast.Break() | ast.Expr(value=ast.Call()):
            return True
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            return True
    return False
