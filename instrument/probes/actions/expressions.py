"""Compile the expressions of a plan to closures that cannot run code of the program, except inside "unsafe".

Operators, comparisons and functions accept exact builtin types only. A failure is an ordinary exception of the closure.
One case is not excluded: a dict or set of the program with keys of its own class that have the hash of a looked-up
scalar.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from clew.instrument.probes.actions import values
from clew.instrument.recorder.redaction import HIDDEN
from clew.records.errors import PlanError
from clew.records.plan.plan import Expr

Arguments = Sequence[Any]
Evaluate = Callable[[Arguments], Any]

UNKNOWN = object()
"""Placeholder for the value of a deleted parameter."""

_ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
}
_NUMBERS = frozenset({int, float, bool})
_TEXTS = frozenset({str, bytes, tuple})
_STRING_METHODS: dict[str, Callable[..., Any]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "lower": str.lower,
    "upper": str.upper,
    "strip": str.strip,
}


def names(expression: Expr) -> set[str]:
    """Return the parameters (and "result", "exception", "this") that an expression reads."""
    if expression and expression[0] == "name":
        return {expression[1]}
    if expression and expression[0] == "const":
        return set()
    return {name for part in expression if isinstance(part, list) for name in names(part)}


def reads_hidden(expression: Expr, hides: Callable[[object], bool]) -> bool:
    """Return whether it reads a parameter, an attribute or an item with a redacted name."""
    match expression:
        case ["const", *_]:
            return False
        case ["name", name] if hides(name):
            return True
        case ["attr", _, name] if hides(name):
            return True
        case ["item", _, ["const", name]] if hides(name):
            return True
        case ["method", _, "get", [["const", name], *_]] if hides(name):
            return True
    return any(reads_hidden(part, hides) for part in expression if isinstance(part, list))


def without_hidden(expression: Expr, hides: Callable[[object], bool]) -> Expr:
    """Return an expression for the recordable part of its value: without redacted reads, but with the other items of a
    tuple."""
    if expression[:1] == ["tuple"]:
        return ["tuple", [without_hidden(item, hides) for item in expression[1]]]
    return ["const", HIDDEN] if reads_hidden(expression, hides) else expression


def compile_expression(expression: Expr, slots: dict[str, int], *, safe: bool = True) -> Evaluate:
    """Return a function from the call's arguments to the value; `slots` maps each name to an argument.

    Raises `PlanError` for an invalid expression or a name that is not in `slots`.
    """
    try:
        return _compile(expression, slots, safe)
    except PlanError:
        raise
    except (KeyError, IndexError, TypeError, ValueError):
        raise PlanError(f"{expression!r} is not an expression of a plan; compile the spec again") from None


def _compile(expression: Expr, slots: dict[str, int], safe: bool) -> Evaluate:
    kind, *parts = expression
    match kind:
        case "const":
            (constant,) = parts
            return lambda _: constant
        case "name":
            return _name(parts[0], slots)
        case "unsafe":
            return _compile(parts[0], slots, False)
        case "attr":
            inner, name = _compile(parts[0], slots, safe), parts[1]
            read = values.attribute if safe else getattr
            return lambda arguments: read(inner(arguments), name)
        case "item":
            left, right = (_compile(part, slots, safe) for part in parts)
            take = _item if safe else operator.getitem
            return lambda arguments: take(left(arguments), right(arguments))
        case "call":
            function = _function(parts[0], safe)
            inputs = [_compile(part, slots, safe) for part in parts[1]]
            return lambda arguments: function(*[part(arguments) for part in inputs])
        case "method":
            return _method(parts[0], parts[1], parts[2], slots, safe)
        case "compare":
            compare = _comparison(parts[0], safe)
            left, right = (_compile(part, slots, safe) for part in parts[1:])
            return lambda arguments: compare(left(arguments), right(arguments))
        case "binary":
            combine = _arithmetic(parts[0], safe)
            left, right = (_compile(part, slots, safe) for part in parts[1:])
            return lambda arguments: combine(left(arguments), right(arguments))
        case "not":
            inner, truth = _compile(parts[0], slots, safe), _truth(safe)
            return lambda arguments: not truth(inner(arguments))
        case "and" | "or":
            return _chain(kind == "and", [_compile(part, slots, safe) for part in parts[0]], _truth(safe))
        case "tuple":
            items = [_compile(part, slots, safe) for part in parts[0]]
            return lambda arguments: tuple([item(arguments) for item in items])
    raise PlanError(f"a plan's expressions have no {kind!r}; compile the spec again")


def _function(name: str, safe: bool) -> Callable[..., Any]:
    if name == "without_literals":
        from clew.instrument.probes.actions.sql_templates import (
            without_literals,  # its patterns take a while to compile
        )

        return without_literals
    if name == "with_names":
        from clew.instrument.probes.actions.url_templates import with_names

        return with_names
    return (_SAFE_FUNCTIONS if safe else _FUNCTIONS)[name]


def _name(name: str, slots: dict[str, int]) -> Evaluate:
    if name not in slots:
        raise PlanError(f"there is no {name!r} here")
    slot = slots[name]

    def evaluate(arguments: Arguments) -> Any:
        value = arguments[slot]
        if value is UNKNOWN:
            raise NameError(f"{name} is deleted")
        return value

    return evaluate


def _truth(safe: bool) -> Callable[[Any], bool]:
    return values.truth if safe else bool


def _chain(continue_on: bool, parts: list[Evaluate], truth: Callable[[Any], bool]) -> Evaluate:
    def evaluate(arguments: Arguments) -> Any:
        value: Any = continue_on
        for part in parts:
            value = part(arguments)
            if truth(value) is not continue_on:
                break
        return value

    return evaluate


def _refuse(what: str, *operands: object) -> TypeError:
    return TypeError(f"{what} of {' and '.join(map(values.class_name, operands))} would run code of the program")


def _is_plain(value: Any) -> bool:
    """Return whether it is a scalar, or a tuple of plain values."""
    return type(value) in values.SCALARS or (type(value) is tuple and all(map(_is_plain, value)))


def _item(container: Any, index: Any) -> Any:
    kind = type(container)
    if kind is dict and _is_plain(index):
        return container[index]
    if kind in {list, tuple, str, bytes} and type(index) is int:
        return container[index]
    raise _refuse("item", container, index)


def _contains(item: Any, container: Any) -> bool:
    kind = type(container)
    if (kind is str and type(item) is str) or (kind is bytes and type(item) in {bytes, int}):
        return item in container
    if _is_plain(item):
        if kind is list or kind is tuple:
            return any(_is_plain(other) and item == other for other in container)
        if kind in {dict, set, frozenset} or (kind is range and type(item) in _NUMBERS):
            return item in container
    raise _refuse("in", item, container)


def _comparison(symbol: str, safe: bool) -> Callable[[Any, Any], Any]:
    if symbol == "is":
        return operator.is_
    if symbol == "is not":
        return operator.is_not
    if symbol in ("in", "not in"):
        inside: Callable[[Any, Any], Any] = _contains if safe else lambda item, container: item in container
        return inside if symbol == "in" else lambda item, container: not inside(item, container)
    compare = _ORDER[symbol]
    if not safe:
        return compare

    def compare_plain(left: Any, right: Any) -> Any:
        if not (_is_plain(left) and _is_plain(right)):
            raise _refuse(symbol, left, right)
        return compare(left, right)

    return compare_plain


def _arithmetic(symbol: str, safe: bool) -> Callable[[Any, Any], Any]:
    combine = _ARITHMETIC[symbol]
    if not safe:
        return combine

    def combine_plain(left: Any, right: Any) -> Any:
        kinds = type(left), type(right)
        joined = symbol == "+" and kinds[0] is kinds[1] and kinds[0] in _TEXTS
        if not joined and not _NUMBERS.issuperset(kinds):
            raise _refuse(symbol, left, right)
        return combine(left, right)

    return combine_plain


def _method(receiver: Expr, name: str, inputs: list[Expr], slots: dict[str, int], safe: bool) -> Evaluate:
    inner = _compile(receiver, slots, safe)
    parts = [_compile(part, slots, safe) for part in inputs]
    if not safe:
        return lambda arguments: getattr(inner(arguments), name)(*[part(arguments) for part in parts])
    if name == "get":

        def get(arguments: Arguments) -> Any:
            container, operands = inner(arguments), [part(arguments) for part in parts]
            if type(container) is not dict or not operands or not _is_plain(operands[0]):
                raise _refuse("get", container, *operands[:1])
            return container.get(*operands)

        return get
    method = _STRING_METHODS[name]

    def call(arguments: Arguments) -> Any:
        text, operands = inner(arguments), [part(arguments) for part in parts]
        if type(text) is not str or not all(map(_is_plain, operands)):
            raise _refuse(name, text, *operands)
        return method(text, *operands)

    return call


def _length(value: Any) -> int:
    if type(value) not in values.SIZED:
        raise _refuse("len", value)
    return len(value)


def _text(value: Any) -> str:
    if type(value) not in values.SCALARS or type(value) is bytes:
        raise _refuse("str", value)
    return str(value)


def _integer(value: Any) -> int:
    if type(value) not in _NUMBERS and type(value) is not str:
        raise _refuse("int", value)
    return int(value)


def _representation(value: Any) -> str:
    return values.render(value, _REPRESENTATION_LIMIT)[0] if type(value) is not str else repr(value)


_REPRESENTATION_LIMIT = 1000
_SAFE_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": _length,
    "id": id,
    "str": _text,
    "int": _integer,
    "type": values.class_name,
    "repr": _representation,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "len": len,
    "id": id,
    "str": str,
    "int": int,
    "type": values.class_name,
    "repr": repr,
}
