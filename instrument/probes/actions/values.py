"""Read the program's values without running its code: attributes, truth, bounded text.

Invariant: no method, property, descriptor or `__getattr__` written in Python is called; a value that needs one is
refused with a `TypeError` or `AttributeError`.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable
from itertools import islice
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, cast

from clew.instrument.recorder import redaction

SCALARS = frozenset({str, int, float, bool, bytes, type(None)})
"""Exact types whose operators are implemented by the interpreter."""
SIZED = frozenset({str, bytes, bytearray, list, tuple, dict, set, frozenset, range})

_MISSING = object()
_MRO = type.__dict__["__mro__"].__get__
_NAMESPACE = type.__dict__["__dict__"].__get__
_NAME = type.__dict__["__name__"].__get__
_QUALNAME = type.__dict__["__qualname__"].__get__
_ARGUMENTS = BaseException.__dict__["args"].__get__
_SLOTS = frozenset({MemberDescriptorType, GetSetDescriptorType})
_NATIVE_DESCRIPTORS = _SLOTS | {type(namedtuple("_", "field").__dict__["field"])}
_MAX_ITEMS = 20
_MAX_DEPTH = 3
_MAX_BITS = 1024


def class_name(value: object) -> str:
    return cast(str, _NAME(type(value)))


def bases(kind: type) -> tuple[type, ...]:
    return cast("tuple[type, ...]", _MRO(kind))


def names_of(kind: type) -> tuple[str, str]:
    """Return the module and the qualified name of a class."""
    module = _NAMESPACE(kind).get("__module__", "builtins")
    return (module if type(module) is str else ""), cast(str, _QUALNAME(kind))


def has_method(value: object, name: str) -> bool:
    """Return whether the classes of `value` define `name`."""
    return _find(type(value), name) is not _MISSING


def method(value: object, name: str) -> object:
    """Return the definition of `name` in the classes of `value`, unbound; None if it is missing."""
    found = _find(type(value), name)
    return None if found is _MISSING else found


def _find(kind: type, name: str) -> Any:
    """Return the raw definition of `name` in the classes of `kind`."""
    for base in _MRO(kind):
        namespace = _NAMESPACE(base)
        if name in namespace:
            return namespace[name]
    return _MISSING


def _own(value: object) -> dict[str, Any] | None:
    """Return the instance's dict, unless its class redefines `__dict__`."""
    descriptor = _find(type(value), "__dict__")
    if type(descriptor) not in _SLOTS:
        return None
    namespace = descriptor.__get__(value)
    return namespace if isinstance(namespace, dict) else None


def attribute(value: object, name: str) -> Any:
    """Return `value.name` if it is in the instance's dict, a slot, a field of a namedtuple or a plain class attribute.

    Raises `AttributeError` when it is missing, `TypeError` when only code of the program could compute it.
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
        raise TypeError(f"{_NAME(kind)}.{name} is computed by code of the program")
    return found


def store(value: object, name: str, new: object) -> None:
    """Assign `value.name = new` in a slot or the instance's dict.

    Raise `TypeError` if this would run code of the program.
    """
    found = _find(type(value), name)
    own = _own(value)
    if type(found) is MemberDescriptorType:
        found.__set__(value, new)
    elif own is not None and (found is _MISSING or _find(type(found), "__set__") is _MISSING):
        dict.__setitem__(own, name, new)
    else:
        raise TypeError(f"{_NAME(type(value))} has no place for an attribute {name}")


def _is_enum_property(descriptor: object) -> bool:
    # `member.value` and `member.name`: a Python property of the standard library over `_value_` and `_name_`.
    enum = sys.modules.get("enum")
    return enum is not None and type(descriptor) is getattr(enum, "property", None)


def truth(value: object) -> bool:
    """Return `bool(value)` of an exact builtin. Raises `TypeError` for others."""
    if type(value) in SCALARS or type(value) in SIZED:
        return bool(value)
    raise TypeError(f"the truth value of a {class_name(value)} is computed by code of the program")


def _integer(value: int) -> str:
    return int.__repr__(value) if value.bit_length() <= _MAX_BITS else f"<int of {value.bit_length()} bits>"


def _scalar(value: Any, limit: int) -> str:
    kind = type(value)
    if kind is int:
        return _integer(value)
    if kind is str or kind is bytes:
        return repr(value[:limit]) if len(value) > limit else repr(value)
    return repr(value)


Hides = Callable[[object], bool]


def _nothing(_name: object) -> bool:
    return False


def _items(values: Any, limit: int, depth: int, hides: Hides) -> str:
    return _listed(_first(values), limit, lambda value, left: _nested(value, left, depth, hides))


def _pairs(values: dict[Any, Any], limit: int, depth: int, hides: Hides) -> str:
    def pair(item: tuple[Any, Any], left: int) -> str:
        key, value = item
        name = _nested(key, left, depth, hides)
        return f"{name}: {redaction.HIDDEN if hides(key) else _nested(value, left - len(name), depth, hides)}"

    return _listed(_first(values.items()), limit, pair)


def _first(values: Any) -> list[Any]:
    """Return one item more than is shown, without copying a large container."""
    return list(islice(values, _MAX_ITEMS + 1))


def _listed(values: list[Any], limit: int, shown: Callable[[Any, int], str]) -> str:
    out = []
    left = limit
    for count, value in enumerate(values):
        if count == _MAX_ITEMS or left <= 0:
            out.append("…")
            break
        out.append(shown(value, left))
        left -= len(out[-1]) + 2
    return ", ".join(out)


def _nested(value: Any, limit: int, depth: int, hides: Hides) -> str:
    kind = type(value)
    if kind in SCALARS:
        return _scalar(value, limit)
    if depth < _MAX_DEPTH:
        if kind is list:
            return f"[{_items(value, limit, depth + 1, hides)}]"
        if kind is tuple:
            if len(value) == 2 and hides(value[0]):  # a header
                return f"({_scalar(value[0], limit)}, {redaction.HIDDEN})"
            return f"({_items(value, limit, depth + 1, hides)}{',' if len(value) == 1 else ''})"
        if kind is set or kind is frozenset:
            inside = f"{{{_items(value, limit, depth + 1, hides)}}}" if value else ""
            return inside if value and kind is set else f"{kind.__name__}({inside})"
        if kind is dict:
            return f"{{{_pairs(value, limit, depth + 1, hides)}}}"
        if issubclass(kind, BaseException):
            return f"{_NAME(kind)}({_items(_ARGUMENTS(value), limit, depth + 1, hides)})"
    return f"<{_NAME(kind)} at {id(value):#x}>"


def render(value: Any, limit: int) -> tuple[str, bool]:
    """Return `value` as redacted text of at most `limit` characters, and whether it was cut.

    The text of a str is the str itself, not its `repr`.
    """
    hidden = redaction.current()
    if not hidden.on:
        return _cut(_text(value, limit + 1, _nothing), limit)
    return _cut(hidden.text(_text(value, limit + redaction.LOOKAHEAD, hidden.hides)), limit)


def _text(value: Any, limit: int, hides: Hides) -> str:
    kind = type(value)
    if kind is str:
        return cast(str, value[:limit])
    return _integer(value) if kind is int else _nested(value, limit, 0, hides)


def _cut(text: str, limit: int) -> tuple[str, bool]:
    return text[:limit], len(text) > limit
