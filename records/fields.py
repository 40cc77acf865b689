"""What the fields of documents that are read back have to be, by their annotations."""

from collections.abc import Callable
from typing import Any

Check = tuple[str, Callable[[Any], bool]]
"""What a field has to be, and whether a value is that."""


def is_text(value: object) -> bool:
    # A lone surrogate is no text: it could not be printed.
    return type(value) is str and (value.isascii() or not any("\ud800" <= character <= "\udfff" for character in value))


def is_number(value: object) -> bool:
    return type(value) is int and abs(value) < 1 << 62


def all_in(container: type[Any], fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Is a value exactly such a container, and all in it fit?"""

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
"""By a field's annotation."""
