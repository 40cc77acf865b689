"""The rows of all objects that a second look saw: kind, value, and what they belong to."""

from __future__ import annotations

import collections
import types
from collections.abc import Callable, Hashable
from typing import Any

from clew.instrument.values import _steps
from clew.instrument.values.short_forms import ShortForms, class_name, error_field
from clew.records.values.trace_format import ObjectRow

_BUILTIN = (
    types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
    types.ClassMethodDescriptorType,
)  # fmt: skip
_KINDS: dict[type, str] = {
    type(None): "none", bool: "bool", int: "int", float: "float", complex: "complex", str: "str", bytes: "bytes", list: "list",
    tuple: "tuple", dict: "dict", set: "set", frozenset: "frozenset", collections.deque: "deque", types.CellType: "cell",
    types.CodeType: "code", types.GeneratorType: "generator", types.CoroutineType: "coroutine",
    types.AsyncGeneratorType: "generator", range: "range", slice: "slice",
}  # fmt: skip
_BASES = ((dict, "dict"), (list, "list"), (tuple, "tuple"), (set, "set"), (frozenset, "frozenset"))
_SCALARS = (str, bytes, int, float, bool, type(None))
_MOST_ENDS = 20_000
"""How many changeable objects are described as they are at the end."""


class ObjectTable:
    """Builds the rows after the recording. Making a row may make further objects known, such as an object's class."""

    def __init__(self, forms: ShortForms, code_number: Callable[[types.CodeType], int]) -> None:
        self._forms, self._code_number = forms, code_number
        self.rows: list[ObjectRow] = []
        self.keys: list[int] = []
        self.ends: dict[int, str] = {}
        self._key_numbers: dict[Hashable, int] = {}

    def build(self) -> None:
        """Add a row for each object."""
        seen_in_program = -1
        while True:
            objects, kept, kinds = _steps.objects(len(self.rows))
            if not objects:
                return
            if seen_in_program < 0:
                seen_in_program = len(objects)
            for value, is_kept, kind in zip(objects, kept, kinds, strict=True):
                number = len(self.rows)
                try:
                    row, key = self._row(value, kind) if is_kept else (self._unkept(kind), -1)
                    if is_kept and row.text is None and number < seen_in_program and len(self.ends) < _MOST_ENDS:
                        self.ends[number] = self._forms.whole(value)
                except Exception:  # an object that misbehaves has no text
                    row, key = ObjectRow(-1, "other", None), -1
                self.rows.append(row)
                self.keys.append(key)

    def _unkept(self, kind: type) -> ObjectRow:
        return ObjectRow(_steps.number(kind), _KINDS.get(kind, "instance"), None)

    def _row(self, value: Any, kind: type) -> tuple[ObjectRow, int]:
        of_kind = _steps.number(kind)
        if kind is types.FunctionType:
            extra = [self._code_number(value.__code__)]
            return ObjectRow(of_kind, "function", self._forms.name_of(value), extra), -1
        if kind is types.MethodType:
            extra = [_steps.number(value.__func__), _steps.number(value.__self__)]
            return ObjectRow(of_kind, "method", self._forms.name_of(value), extra), -1
        if kind in _BUILTIN:
            receiver = getattr(value, "__self__", None)
            name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "?")
            extra = [_steps.number(receiver) if receiver is not None else -1]
            return ObjectRow(of_kind, "builtin", str(name), extra), -1
        if isinstance(value, type):
            mro = [_steps.number(base) for base in type.__dict__["__mro__"].__get__(value)]
            return ObjectRow(of_kind, "class", class_name(value), mro), -1
        if isinstance(value, types.ModuleType):
            return ObjectRow(of_kind, "module", self._forms.name_of(value), self._forms.name_of(value)), -1
        text = self._forms.fixed(value)
        if isinstance(value, BaseException):
            behind = [error_field(value, name) for name in ("__cause__", "__context__")]
            chain = [_steps.number(one) if one is not None else -1 for one in behind]
            return ObjectRow(of_kind, "exception", self._forms.exception(value), chain), -1
        name = _KINDS.get(kind) or next((word for base, word in _BASES if issubclass(kind, base)), "")
        if not name:
            name = "iterator" if "__next__" in type.__dict__["__dict__"].__get__(kind) else "instance"
        return ObjectRow(of_kind, name, text), self._key(value, kind)

    def _key(self, value: Any, kind: type) -> int:
        """Return the number of a value that may be a key of a dict."""
        if kind in _SCALARS:
            # True and 1 and 1.0 are one key of a dict, as they are here.
            return self._key_numbers.setdefault(("value", value), len(self._key_numbers))
        if kind is tuple and all(type(one) in _SCALARS for one in value):
            return self._key_numbers.setdefault(("tuple", value), len(self._key_numbers))
        return -1
