"""Check the expressions of the language and lower them to lists of the plan.

An accepted expression never runs user code, except inside `unsafe`, where the spec allows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from clew.esl.syntax.ast import (
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
from clew.esl.syntax.problem import EslProblem, did_you_mean, listing
from clew.records.plan.plan import Expr

FUNCTIONS = {**dict.fromkeys(("len", "id", "str", "int", "type", "repr", "without_literals"), 1), "with_names": 3}
"""Functions that run no user code, with their number of arguments."""
METHODS: dict[str, tuple[int, int]] = {
    "startswith": (1, 1),
    "endswith": (1, 1),
    "lower": (0, 0),
    "upper": (0, 0),
    "strip": (0, 1),
    "get": (1, 2),
}
"""Methods of str and dict that run no user code, with their minimum and maximum number of arguments."""
AT_FINISH = ("result", "exception")
"""Names that have a value only after a call has ended."""
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
            # The name of a called function is not a value; the object of a called method is.
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
    """Yield every name of a value, in order, without names of called functions."""
    if isinstance(node, Name):
        yield node
    for child in children(node):
        yield from names_in(child)


def check(node: Expression, *, at_finish: bool, unsafe: bool = False) -> Iterator[EslProblem]:
    """Yield problems that do not depend on the function: calls that need `unsafe`, wrong numbers of arguments, `result`
    and `exception` at a call's start."""
    match node:
        case Const(value=float(value)) if not math.isfinite(value):
            yield EslProblem("error", "the number is too large; write a smaller one", node.span)
        case Name() if node.id in AT_FINISH and not at_finish:
            yield EslProblem(
                "error",
                f"`{node.id}` has a value only after the call has ended; add `finish`",
                node.span,
            )
        case Unary(operator="unsafe"):
            if unsafe:
                yield EslProblem("warning", "`unsafe` is redundant inside `unsafe`; remove it", node.span)
            unsafe = True
        case Call():
            yield from _check_call(node, unsafe)
            if isinstance(node.function, Attribute):
                # The method itself was checked above; its object remains.
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
            message = f"`{name}` is not a function of the spec language; expected {listing(list(FUNCTIONS), 'or')}"
            yield EslProblem("error", message + hint, node.function.span, fix)
        elif count != FUNCTIONS[name]:
            takes = "one value" if FUNCTIONS[name] == 1 else f"{FUNCTIONS[name]} values"
            yield EslProblem("error", f"`{name}` takes {takes}, but got {count}", node.span)
    elif isinstance(node.function, Attribute):
        name = node.function.name.text
        if name not in METHODS:
            if not unsafe:
                hint, _ = did_you_mean(name, METHODS)
                message = (
                    f"calling `{name}` runs code of the traced program; write `unsafe` before the value to allow that"
                )
                yield EslProblem("error", message + hint, node.function.name.span)
        elif not METHODS[name][0] <= count <= METHODS[name][1] and not unsafe:
            fewest, most = METHODS[name]
            takes = count_of_values(fewest, most)
            yield EslProblem("error", f"`{name}` takes {takes}, but got {count}", node.span)
    else:
        yield EslProblem("error", "only a function or a method can be called, by its name", node.function.span)


def count_of_values(fewest: int, most: int) -> str:
    """Format a count: `1 value`, `0 or 1 values`."""
    return f"{fewest} value{'' if fewest == 1 else 's'}" if fewest == most else f"{fewest} or {most} values"


def lower(node: Expression, names: Mapping[str, Expression] | None = None) -> Expr:
    """Lower an expression that `check` accepts. `names` has the meaning of an entity's watched names."""
    known = names or {}
    match node:
        case Const():
            return ["const", node.value]
        case Setting():
            raise ValueError(f"${node.id} has no value")  # `meaning` has substituted a value
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
