"""Converts JSON to the dataclasses of `protocol` and back, and checks every field of received data.

Invariant: `decode` returns a value whose every field has its declared type, or raises `RequestError` naming the field.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from clew.records.errors import ClewError

T = TypeVar("T")


class RequestError(ClewError):
    """A request that is invalid or cannot be answered."""


def decode(cls: type[T], data: object, where: str = "params") -> T:
    """Return an instance of the dataclass `cls` from JSON data. Unknown fields are ignored, so that an older server
    understands a newer client. Raises `RequestError`."""
    if not isinstance(data, Mapping):
        raise RequestError(f"{where}: expected an object, got {_name(data)}")
    values: dict[str, Any] = {}
    hints = _hints(cls)
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]  # every class of the protocol is a dataclass
        if field.name in data:
            values[field.name] = _value(hints[field.name], data[field.name], f"{where}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise RequestError(f"{where}.{field.name} is missing")
    return cls(**values)


def encode(value: object) -> Any:
    """Return a dataclass of the protocol as plain JSON data (dict, list, scalars)."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    return value


def _hints(cls: type[Any]) -> dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = typing.get_type_hints(cls)
    return _HINTS[cls]


_HINTS: dict[type[Any], dict[str, Any]] = {}
"""The resolved annotations of each class, cached because resolving takes longer than decoding."""


def _value(hint: Any, data: object, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        if data in arguments:
            return data
        raise RequestError(f"{where} is {data!r}; expected one of {', '.join(repr(choice) for choice in arguments)}")
    if origin is types.UnionType:
        if data is None and type(None) in arguments:
            return None
        return _value(next(argument for argument in arguments if argument is not type(None)), data, where)
    if origin is list:
        if not isinstance(data, list):
            raise RequestError(f"{where}: expected a list, got {_name(data)}")
        return [_value(arguments[0], item, f"{where}[{index}]") for index, item in enumerate(data)]
    if dataclasses.is_dataclass(hint):
        return decode(typing.cast("type[Any]", hint), data, where)
    if hint is float and type(data) is int:
        return float(data)
    if type(data) is not hint:
        raise RequestError(f"{where}: expected {hint.__name__}, got {_name(data)}")
    return data


def _name(data: object) -> str:
    return "null" if data is None else type(data).__name__
