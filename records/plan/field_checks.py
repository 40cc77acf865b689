"""Check the fields of deserialized documents by their annotations."""

from collections.abc import Callable
from typing import Any

Check = tuple[str, Callable[[Any], bool]]
"""Description of a field's type, and a predicate for values."""


def is_text(value: object) -> bool:
    # A lone surrogate is not text: it could not be printed.
    return type(value) is str and (value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value))


def is_number(value: object) -> bool:
    return type(value) is int and abs(value) < 1 << 62


def all_in(container: type[Any], fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return a predicate: the value is exactly such a container, and all its items fit."""

    def check(value: Any) -> bool:
        return type(value) is container and all(map(fits, value))

    return check


FIELDS: dict[object, Check] = {
    str: ("a text", is_text),
    int: ("a number", is_number),
    bool: ("true or false", lambda value: type(value) is bool),
    int | None: ("a number or null", lambda value: value is None or is_number(value)),
    list[str]: ("a list of texts", all_in(list, is_text)),
}
"""Checks by a field's annotation."""
