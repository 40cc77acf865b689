"""The expressions of the language: what they may do, and how they become the plan's lists.

Everything an accepted expression does is free of user code, except inside `unsafe`, where the spec allows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from clew.esl.ast import (
    Attribute,
    Binary,
    BoolOp,
    Call,
    Compare,
    Const,
    Expression,
    Item,
    Name,
    Setting,
    TupleOf,
    Unary,
)
from clew.esl.problem import EslProblem, did_you_mean, listing
from clew.records.plan import Expr

FUNCTIONS = {**dict.fromkeys(("len", "id", "str", "int", "type", "repr", "without_literals"), 1), "with_names": 3}
"""Functions that run no user code, with how many values they take."""
METHODS: dict[str, tuple[int, int]] = {
    "startswith": (1, 1),
    "endswith": (1, 1),
    "lower": (0, 0),
    "upper": (0, 0),
    "strip": (0, 1),
    "get": (1, 2),
}
"""Methods of str and dict that run no user code, with the fewest and most arguments they take."""
AT_FINISH = ("result", "exception")
"""Names that have a value only when a call has ended."""
THIS = "this"


def children(node: Expression) -> tuple[Expression, ...]:
    match node:
        case Const() | Name() | Setting():
            return ()
        case Attribute():
            return (node.object,)
        case Item():
            return (node.object, node.index)
        case Call():
            # The name of a function is no value; the object of a method is.
            callee = () if isinstance(node.function, Name) else (node.function,)
            return (*callee, *node.arguments)
        case Unary():
            return (node.operand,)
        case Binary():
            return (node.left, node.right)
        case Compare() | BoolOp():
            return node.operands
        case TupleOf():
            return node.items


def names_in(node: Expression) -> Iterator[Name]:
    """Every name that stands for a value, in order; not those of functions that are called."""
    if isinstance(node, Name):
        yield node
    for child in children(node):
        yield from names_in(child)


def check(node: Expression, *, at_finish: bool, unsafe: bool = False) -> Iterator[EslProblem]:
    """Problems that can be seen without knowing the function: calls that need `unsafe`, wrong numbers of arguments,
    `result` and `exception` at a call's start."""
    match node:
        case Const(value=float(value)) if not math.isfinite(value):
            yield EslProblem("error", "this number is too large; write a smaller one", node.span)
        case Name() if node.id in AT_FINISH and not at_finish:
            yield EslProblem(
                "error",
                f"`{node.id}` has a value only when the call has ended; it needs `finish`",
                node.span,
            )
        case Unary(operator="unsafe"):
            if unsafe:
                yield EslProblem("warning", "this is inside `unsafe` already; remove the word", node.span)
            unsafe = True
        case Call():
            yield from _check_call(node, unsafe)
            if isinstance(node.function, Attribute):
                # The method itself was judged above; what it is called on remains.
                yield from check(node.function.object, at_finish=at_finish, unsafe=unsafe)
                for argument in node.arguments:
                    yield from check(argument, at_finish=at_finish, unsafe=unsafe)
                return
    for child in children(node):
        yield from check(child, at_finish=at_finish, unsafe=unsafe)


def _check_call(node: Call, unsafe: bool) -> Iterator[EslProblem]:
    count = len(node.arguments)
    if isinstance(node.function, Name):
        name = node.function.id
        if name not in FUNCTIONS:
            hint, fix = did_you_mean(name, FUNCTIONS)
            message = f"`{name}` is no function that a spec can call; there are {listing(list(FUNCTIONS), 'and')}"
            yield EslProblem("error", message + hint, node.function.span, fix)
        elif count != FUNCTIONS[name]:
            takes = "one value" if FUNCTIONS[name] == 1 else f"{FUNCTIONS[name]} values"
            yield EslProblem("error", f"`{name}` takes {takes}, here it gets {count}", node.span)
    elif isinstance(node.function, Attribute):
        name = node.function.name.text
        if name not in METHODS:
            if not unsafe:
                hint, _ = did_you_mean(name, METHODS)
                message = f"calling `{name}` runs code of the traced program; if that is meant, write `unsafe` before the value"
                yield EslProblem("error", message + hint, node.function.name.span)
        elif not METHODS[name][0] <= count <= METHODS[name][1] and not unsafe:
            fewest, most = METHODS[name]
            takes = count_of_values(fewest, most)
            yield EslProblem("error", f"`{name}` takes {takes}, here it gets {count}", node.span)
    else:
        yield EslProblem("error", "only a function or a method can be called, by its name", node.function.span)


def count_of_values(fewest: int, most: int) -> str:
    """`1 value`, `0 or 1 values`."""
    return f"{fewest} value{'' if fewest == 1 else 's'}" if fewest == most else f"{fewest} or {most} values"


def lower(node: Expression, names: Mapping[str, Expression] | None = None) -> Expr:
    """The plan's form of an expression that `check` accepts. `names` gives the meaning of an entity's watched names."""
    known = names or {}
    match node:
        case Const():
            return ["const", node.value]
        case Setting():
            raise ValueError(f"${node.id} has no value")  # `meaning` has put one in its place
        case Name():
            # A watched value is closed: it cannot refer to other watched names.
            return lower(known[node.id]) if node.id in known else ["name", node.id]
        case Attribute():
            return ["attr", lower(node.object, known), node.name.text]
        case Item():
            return ["item", lower(node.object, known), lower(node.index, known)]
        case Call(function=Attribute() as method):
            arguments = [lower(argument, known) for argument in node.arguments]
            return ["method", lower(method.object, known), method.name.text, arguments]
        case Call():
            function = node.function.id if isinstance(node.function, Name) else ""
            return ["call", function, [lower(argument, known) for argument in node.arguments]]
        case Unary(operator="unsafe"):
            return ["unsafe", lower(node.operand, known)]
        case Unary(operator="not"):
            return ["not", lower(node.operand, known)]
        case Unary():
            return ["binary", "-", ["const", 0], lower(node.operand, known)]
        case Binary():
            return ["binary", node.operator, lower(node.left, known), lower(node.right, known)]
        case Compare():
            values = [lower(operand, known) for operand in node.operands]
            pairs: list[Expr] = [
                ["compare", operator, left, right]
                for operator, left, right in zip(node.operators, values[:-1], values[1:], strict=True)
            ]
            return pairs[0] if len(pairs) == 1 else ["and", pairs]
        case BoolOp():
            return [node.operator, [lower(operand, known) for operand in node.operands]]
        case TupleOf():
            return ["tuple", [lower(item, known) for item in node.items]]
