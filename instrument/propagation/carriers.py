"""What a message carries a cause in: headers of any of the forms that protocols have, and fields of messages.

- a dict, or another mapping (`os.environ`), of names and values, which are `str` or `bytes`;
- a list of pairs, as ASGI and Kafka have it, which are `str` or `bytes`, too;
- an object: the attribute of the name.

Names of headers have no case. Invariant: what is put in has the types of what is there, and no method of an object that is
neither mapping nor list is called.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from clew.instrument.probes.actions import values


def read(carrier: Any, name: str) -> str | None:
    """What `carrier` has under `name`, None for nothing. Raises what a mapping of the program's own raises."""
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
"""Of what types a list's pairs are: each part is empty."""


def write(carrier: Any, name: str, header: str, before: Pair | None = None) -> Pair | None:
    """Puts `header` under `name`, in place of what is there. An empty list takes pairs as others had `before`; of a list its
    pairs' types are returned. Raises `TypeError` for what cannot carry it, and what a mapping of the program's own raises."""
    if type(carrier) is list:
        example = next(iter(_pairs(carrier)), before)
        if example is None:
            raise TypeError("an empty list does not show whether its pairs are str or bytes")
        pair = (_like(example[0], name), _like(example[1], header))
        kept = [item for item in carrier if not (_is_pair(item) and _text(item[0]).lower() == name.lower())]
        carrier[:] = [*kept, pair]
        return _like(example[0], ""), _like(example[1], "")
    if type(carrier) is not tuple and _is_mapping(carrier):
        _into(carrier, name, header)
    else:
        values.store(carrier, name, header)
    return None


def _into(carrier: MutableMapping[Any, Any], name: str, header: str) -> None:
    # A header of ours, in whatever case it came back, makes way for the new one.
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
    """Of a pair, also one with named fields."""
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
    """A header's name or value as text, "" for what is none."""
    if isinstance(value, bytes):
        return value.decode("latin-1")
    return value if isinstance(value, str) else ""


def _like(example: object, text: str) -> str | bytes:
    return text.encode("latin-1") if isinstance(example, bytes) else text
