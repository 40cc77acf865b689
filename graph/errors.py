"""Define the errors of queries that do not fit a run."""

from __future__ import annotations

from operator import index
from typing import SupportsIndex

from clew.records.errors import ClewError


class QueryError(ClewError):
    """Report an invalid query; the message says how to correct it."""


def check_whole(value: object, what: str, remedy: str) -> int:
    """Return `value` if it is an integer of 0 or more, else raise `QueryError`."""
    number = index(value) if isinstance(value, SupportsIndex) and not isinstance(value, bool) else -1
    if number < 0:
        raise QueryError(f"{what} {value!r}{remedy}")
    return number
