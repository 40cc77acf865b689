"""Read and write the carriers of causes: headers in the forms of various protocols, and fields of messages.

- a dict, or another mapping (`os.environ`), whose names and values are `str` or `bytes`;
- a list of pairs of `str` or `bytes`, as in ASGI and Kafka;
- an object, with the attribute of the name.

Header names are case-insensitive. Invariant: written names and values have the types of the existing ones. No method of an
object that is neither a mapping nor a list is called.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from clew.instrument.probes.actions import values


def read(carrier: Any, name: str) -> str | None:
    """Return the text under `name` in `carrier`, or None. Exceptions of the program's own mapping classes propagate."""
    found: list[object] = []
    if type(carrier) is list or type(carrier) is tuple:
        found = [value for key, value in _pairs(carrier) if _text(key).lower() == name.lower()]
    elif _is_mapping(carrier):
        found = [value for key, value in carrier.items() if _text(key).lower() == name.lower()]
    else:
        try:
            found = [values.attribute(carrier, name)]
        except AttributeError:
            return None
    text = _text(found[-1]) if found else ""
    return text or None


Pair = tuple[str | bytes, str | bytes]
"""An empty name and an empty value, of the types in a list's pairs."""


def write(carrier: Any, name: str, header: str, before: Pair | None = None) -> Pair | None:
    """Write `header` under `name`, replacing an existing value.

    For a list, return the types of its pairs; an empty list gets a pair of the types in `before`. Raise `TypeError` if the
    carrier is not supported. Exceptions of the program's own mapping classes propagate.
    """
    if type(carrier) is list:
        example = next(iter(_pairs(carrier)), before)
        if example is None:
            raise TypeError("an empty list does not show whether its pairs are str or bytes")
        pair = (_like(example[0], name), _like(example[1], header))
        others = [item for item in carrier if not (_is_pair(item) and _text(item[0]).lower() == name.lower())]
        carrier[:] = [*others, pair]
        return _like(example[0], ""), _like(example[1], "")
    if type(carrier) is not tuple and _is_mapping(carrier):
        _into(carrier, name, header)
    else:
        values.store(carrier, name, header)
    return None


def _into(carrier: MutableMapping[Any, Any], name: str, header: str) -> None:
    # Remove an earlier header of clew, which may have come back in another case.
    for key in [key for key in carrier if _text(key).lower() == name.lower()]:
        del carrier[key]
    example = next(iter(carrier), name)
    value = carrier.get(example, header)
    carrier[_like(example, name)] = _like(value, header)


def _is_mapping(carrier: object) -> bool:
    return isinstance(carrier, dict) or values.has_method(carrier, "items")


def _is_pair(item: object) -> bool:
    return _parts(item) is not None


def _parts(item: object) -> tuple[Any, Any] | None:
    """Return the two parts of a pair, which may be a namedtuple; None for any other object."""
    match item:
        case tuple():
            parts = tuple(tuple.__iter__(item))
        case list():
            parts = tuple(list.__iter__(item))
        case _:
            return None
    return (parts[0], parts[1]) if len(parts) == 2 else None


def _pairs(carrier: Any) -> list[tuple[Any, Any]]:
    return [parts for item in carrier if (parts := _parts(item)) is not None]


def _text(value: object) -> str:
    """Return a header's name or value as text; "" for other types."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else ""


def _like(example: object, text: str) -> str | bytes:
    return text.encode("latin-1") if isinstance(example, bytes) else text
