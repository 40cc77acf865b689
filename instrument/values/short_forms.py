"""Values as a person would write them: short, redacted, and without running code of the program.

`str` and `repr` are called only for types of the interpreter and of numpy's scalars. Attributes are read from `__dict__`, slots
and the C layout, never by `getattr` on an object of the program.
"""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import re
import sys
import uuid
from pathlib import PurePath
from types import BuiltinFunctionType, FunctionType, GetSetDescriptorType, MemberDescriptorType, MethodType, ModuleType
from typing import Any

from clew.instrument.recorder.redaction import HIDDEN, Redaction

LONGEST = 80
_MOST_ITEMS = 6
_DEEPEST = 2
_PLAIN = (int, float, complex, bool, type(None))
_TOLD_BY_STR = (
    decimal.Decimal, fractions.Fraction, uuid.UUID, datetime.datetime, datetime.date, datetime.time, datetime.timedelta,
)  # fmt: skip
_class_dict = type.__dict__["__dict__"].__get__
_class_mro = type.__dict__["__mro__"].__get__
_class_name = type.__dict__["__name__"].__get__
_class_flags = type.__dict__["__flags__"].__get__
_MADE_AT_RUN_TIME = 1 << 9
"""The flag of a class that a program or a library defined; the interpreter's own classes are without it."""
_error_fields: Any = BaseException.__dict__
"""The descriptors of an exception's own fields, which a class of the program cannot override."""


def class_name(kind: type) -> str:
    """Return the name of a class, without asking its metaclass."""
    found = _class_name(kind)
    return found if type(found) is str else "?"


def error_field(error: BaseException, name: str) -> Any:
    """Return a field of an exception (`args`, `__cause__`, `__context__`, `__traceback__`) without asking its class."""
    return _error_fields[name].__get__(error)


def _shortened(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


class ShortForms:
    """Writes values. `redaction` hides texts by pattern, and attributes and keys by name."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction

    def fixed(self, value: Any) -> str | None:
        """Return the short form of a value that cannot change; None for any other."""
        kind = type(value)
        if kind in _PLAIN:
            if kind is int and value.bit_length() > 8 * LONGEST:
                return f"an int of {value.bit_length()} bits"
            return _shortened(repr(value))
        if kind is str:
            return _shortened(repr(self._redaction.text(value[: 4 * LONGEST])))
        if kind is bytes:
            return _shortened(
                repr(self._redaction.text(value[: 4 * LONGEST].decode("latin-1")).encode("latin-1", "replace"))
            )
        if kind in (tuple, frozenset) and all(type(one) in (*_PLAIN, str, bytes) for one in value):
            return self._listed(value, 0, set())
        if kind in _TOLD_BY_STR:
            return _shortened(f"{class_name(kind)}({str(value)!r})" if kind is decimal.Decimal else str(value))
        if kind is range or kind is slice:
            return _shortened(repr(value)) if _is_simple(value) else None
        if isinstance(value, enum.Enum):
            name = object.__getattribute__(value, "__dict__").get("_name_")
            return f"{class_name(kind)}.{name}" if type(name) is str else None
        if kind is re.Pattern and type(value.pattern) is str:
            return _shortened(f"re.compile({value.pattern!r})")
        if issubclass(kind, PurePath) and kind.__module__.startswith("pathlib"):
            return _shortened(repr(self._redaction.text(str(value))))
        return _scientific(value, kind)

    def whole(self, value: Any, depth: int = 0, above: set[int] | None = None) -> str:
        """Return the short form of any value as it is now: containers with their first items, objects with their attributes."""
        kind = type(value)
        fixed = self.fixed(value)
        if fixed is not None:
            return fixed
        above = above or set()
        if id(value) in above or depth > _DEEPEST:
            return "…"
        inner = above | {id(value)}
        if kind in (list, tuple, set, frozenset, collections.deque):
            return self._listed(value, depth, inner)
        if kind in (dict, collections.OrderedDict, collections.defaultdict, collections.Counter):
            return self._dict(value, depth, inner)
        if isinstance(value, (FunctionType, BuiltinFunctionType, MethodType, type, ModuleType)):
            return self.name_of(value)
        if isinstance(value, BaseException):
            return self.exception(value)
        return self._instance(value, kind, depth, inner)

    def exception(self, error: BaseException) -> str:
        """Return an exception as its type and arguments."""
        arguments = error_field(error, "args")
        shown = ", ".join(self.fixed(one) or f"<{class_name(type(one))}>" for one in arguments[:_MOST_ITEMS])
        return _shortened(f"{class_name(type(error))}({shown})", 2 * LONGEST)

    @staticmethod
    def name_of(value: Any) -> str:
        """Return the qualified name of a function, method, class or module."""
        if isinstance(value, MethodType):
            value = value.__func__
        if isinstance(value, type):
            return class_name(value)
        if type(value) is ModuleType:
            name = value.__dict__.get("__name__")
        else:
            name = (
                getattr(value, "__qualname__", None) if isinstance(value, (FunctionType, BuiltinFunctionType)) else None
            )
        return name if type(name) is str else class_name(type(value))

    def _listed(self, value: Any, depth: int, above: set[int]) -> str:
        kind = type(value)
        opened, closed = "()" if kind is tuple else "{}" if kind in (set, frozenset) else "[]"
        shown = []
        for place, one in enumerate(tuple(value)):
            if place == _MOST_ITEMS:
                shown.append(f"… {len(value) - place} more")
                break
            shown.append(self.whole(one, depth + 1, above))
        text = ", ".join(shown)
        if kind is tuple and len(value) == 1:
            text += ","
        if kind in (set, frozenset) and not value:
            return f"{kind.__name__}()"
        prefix = "deque(" if kind is collections.deque else ""
        return _shortened(f"{prefix}{opened}{text}{closed}{')' if prefix else ''}", 2 * LONGEST)

    def _dict(self, value: dict[Any, Any], depth: int, above: set[int]) -> str:
        shown = []
        for place, (key, one) in enumerate(tuple(dict.items(value))):
            if place == _MOST_ITEMS:
                shown.append(f"… {len(value) - place} more")
                break
            hidden = self._redaction.hides(key)
            shown.append(
                f"{self.whole(key, depth + 1, above)}: {HIDDEN if hidden else self.whole(one, depth + 1, above)}"
            )
        return _shortened("{" + ", ".join(shown) + "}", 2 * LONGEST)

    def _instance(self, value: Any, kind: type, depth: int, above: set[int]) -> str:
        attributes = dict(_attributes(value, kind))
        name = class_name(kind)
        table = _table(value, kind, attributes)
        if table:
            return table
        if not attributes and kind is not object and not _class_flags(kind) & _MADE_AT_RUN_TIME:
            return f"<{name}>"
        shown: list[str] = []
        for key, one in attributes.items():
            if key.startswith("__"):
                continue
            if len(shown) == _MOST_ITEMS:
                shown.append("…")
                break
            hidden = self._redaction.hides(key)
            shown.append(f"{key}={HIDDEN if hidden else self.whole(one, depth + 1, above)}")
        return _shortened(f"{name}({', '.join(shown)})", 2 * LONGEST)


def _is_simple(value: Any) -> bool:
    return all(type(one) in (int, type(None)) for one in (value.start, value.stop, value.step))


def _attributes(value: Any, kind: type) -> list[tuple[str, Any]]:
    """Return the attributes that an object holds itself: in slots, then in its `__dict__`.

    The fields of the interpreter's own classes, such as the code of a generator, are left out.
    """
    found: list[tuple[str, Any]] = []
    for base in _class_mro(kind):
        if not _class_flags(base) & _MADE_AT_RUN_TIME:
            continue
        for name, member in _class_dict(base).items():
            if type(member) is MemberDescriptorType and type(name) is str and not name.startswith("__"):
                try:
                    found.append((name, member.__get__(value, kind)))
                except AttributeError:
                    continue
    own = _dict_of(value, kind)
    return found + [(key, one) for key, one in own.items() if type(key) is str]


def _dict_of(value: Any, kind: type) -> dict[str, Any]:
    for base in _class_mro(kind):
        member = _class_dict(base).get("__dict__")
        if type(member) in (GetSetDescriptorType, MemberDescriptorType):
            try:
                own = member.__get__(value, kind)
            except (AttributeError, TypeError):
                return {}
            return own if type(own) is dict else {}
    return {}


def _scientific(value: Any, kind: type) -> str | None:
    """Return the short form of a scalar or an array of numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is None or kind.__module__ != "numpy":
        return None
    if isinstance(value, numpy.generic):
        return _shortened(str(value.item()) if value.dtype.kind in "biufc" else f"{kind.__name__} scalar")
    if kind is numpy.ndarray:
        return f"array of {value.dtype}, shape {value.shape}"
    return None


def _table(value: Any, kind: type, attributes: dict[str, Any]) -> str | None:
    """Return the short form of an object of pandas: columns and length of a DataFrame or Series, else the class's name."""
    pandas = sys.modules.get("pandas")
    if pandas is None or kind.__module__.partition(".")[0] != "pandas":
        return None
    if kind is pandas.DataFrame:
        columns = ", ".join(str(one) for one in list(value.columns)[:_MOST_ITEMS] if type(one) is str)
        return _shortened(f"DataFrame of {len(value)} rows with {columns}")
    if kind is pandas.Series:
        return f"Series of {len(value)} {value.dtype}"
    return class_name(kind)
