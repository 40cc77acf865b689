"""Looks at the program's values without running its code: attributes, truth, bounded text.

Invariant: no method, property, descriptor or `__getattr__` that is written in Python is called; what would need one is
refused with a `TypeError` or `AttributeError`.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, cast

SCALARS = frozenset({str, int, float, bool, bytes, type(None)})
"""Exact types whose operators are the interpreter's own."""
SIZED = frozenset({str, bytes, bytearray, list, tuple, dict, set, frozenset, range})

_MISSING = object()
_MRO = type.__dict__["__mro__"].__get__
_NAMESPACE = type.__dict__["__dict__"].__get__
_NAME = type.__dict__["__name__"].__get__
_ARGUMENTS = BaseException.__dict__["args"].__get__
_SLOTS = frozenset({MemberDescriptorType, GetSetDescriptorType})
_NATIVE_DESCRIPTORS = _SLOTS | {type(namedtuple("_", "field").__dict__["field"])}
_MAX_ITEMS = 20
_MAX_DEPTH = 3
_MAX_BITS = 1024


def class_name(value: object) -> str:
    return cast(str, _NAME(type(value)))


def _find(kind: type, name: str) -> Any:
    """What the classes of `kind` say of `name`, raw."""
    for base in _MRO(kind):
        namespace = _NAMESPACE(base)
        if name in namespace:
            return namespace[name]
    return _MISSING


def _own(value: object) -> dict[str, Any] | None:
    """The instance's dict, unless its class says something else of `__dict__`."""
    descriptor = _find(type(value), "__dict__")
    if type(descriptor) not in _SLOTS:
        return None
    namespace = descriptor.__get__(value)
    return namespace if isinstance(namespace, dict) else None


def attribute(value: object, name: str) -> Any:
    """`value.name` when it is in the instance's dict, a slot, a field of a namedtuple or a plain class attribute.

    Raises `AttributeError` when it is not there, `TypeError` when only the program's code could tell.
    """
    kind = type(value)
    found = _find(kind, name)
    if type(found) in _NATIVE_DESCRIPTORS:
        return found.__get__(value)
    if issubclass(kind, type):
        found = _find(cast(type, value), name)
        own = None
    else:
        own = _own(value)
    if own is not None:
        if found is not _MISSING and _is_enum_property(found):
            name, found = f"_{name}_", _MISSING
        if found is _MISSING or _find(type(found), "__set__") is _MISSING:
            stored = dict.get(own, name, _MISSING)
            if stored is not _MISSING:
                return stored
    if found is _MISSING:
        raise AttributeError(f"{_NAME(kind)} has no plain attribute {name}")
    if _find(type(found), "__get__") is not _MISSING:
        raise TypeError(f"{_NAME(kind)}.{name} is computed by the program's code")
    return found


def _is_enum_property(descriptor: object) -> bool:
    # `member.value` and `member.name`: a Python property of the standard library over `_value_` and `_name_`.
    enum = sys.modules.get("enum")
    return enum is not None and type(descriptor) is getattr(enum, "property", None)


def truth(value: object) -> bool:
    """`bool(value)` of an exact builtin. Raises `TypeError` for others."""
    if type(value) in SCALARS or type(value) in SIZED:
        return bool(value)
    raise TypeError(f"the truth of a {class_name(value)} is told by the program's code")


def _integer(value: int) -> str:
    return int.__repr__(value) if value.bit_length() <= _MAX_BITS else f"<int of {value.bit_length()} bits>"


def _scalar(value: Any, limit: int) -> str:
    kind = type(value)
    if kind is int:
        return _integer(value)
    if kind is str or kind is bytes:
        return repr(value[:limit]) if len(value) > limit else repr(value)
    return repr(value)


def _items(values: Any, limit: int, depth: int) -> str:
    out = []
    left = limit
    for count, value in enumerate(list(values)):
        if count == _MAX_ITEMS or left <= 0:
            out.append("…")
            break
        out.append(_nested(value, left, depth))
        left -= len(out[-1]) + 2
    return ", ".join(out)


def _nested(value: Any, limit: int, depth: int) -> str:
    kind = type(value)
    if kind in SCALARS:
        return _scalar(value, limit)
    if depth < _MAX_DEPTH:
        if kind is list:
            return f"[{_items(value, limit, depth + 1)}]"
        if kind is tuple:
            return f"({_items(value, limit, depth + 1)}{',' if len(value) == 1 else ''})"
        if kind is set or kind is frozenset:
            inside = f"{{{_items(value, limit, depth + 1)}}}" if value else ""
            return inside if value and kind is set else f"{kind.__name__}({inside})"
        if kind is dict:
            pairs = [
                f"{_nested(key, limit, depth + 1)}: {_nested(item, limit, depth + 1)}"
                for key, item in list(value.items())[:_MAX_ITEMS]
            ]
            return "{" + ", ".join(pairs + ["…"] * (len(value) > _MAX_ITEMS)) + "}"
        if issubclass(kind, BaseException):
            return f"{_NAME(kind)}({_items(_ARGUMENTS(value), limit, depth + 1)})"
    return f"<{_NAME(kind)} at {id(value):#x}>"


def render(value: Any, limit: int) -> tuple[str, bool]:
    """`value` as text of at most `limit` characters, and whether it was cut. A str is its own text."""
    kind = type(value)
    text = value[: limit + 1] if kind is str else _integer(value) if kind is int else _nested(value, limit + 1, 0)
    return text[:limit], len(text) > limit
