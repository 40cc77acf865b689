"""Define the common base of the thresholds of all comparisons: frozen dataclasses of numbers, each with its valid bounds.

Invariant: a value that is not a number, or out of bounds, is rejected by name before the comparison starts.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from math import inf
from numbers import Integral, Real
from typing import Any, Self

from clew.graph.errors import QueryError


def bounded(default: float, low: float = 0.0, high: float = inf, *, above: bool = False) -> Any:
    """Declare a threshold from `low` to `high`, both inclusive; `above` excludes `low`. An integer default needs integers."""
    return field(default=default, metadata={"bounds": (low, high, above)})


def fraction(default: float) -> Any:
    """Declare a threshold that is a share."""
    return bounded(default, 0.0, 1.0)


@dataclass(frozen=True)
class Bounded:
    """Raise `QueryError` for the first threshold whose value is not a valid number."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            low, high, above = each.metadata["bounds"]
            whole = isinstance(each.default, int)
            is_number = isinstance(value, Integral if whole else Real) and not isinstance(value, bool)
            if is_number and (low < value if above else low <= value) and value <= high:
                continue
            kind = "a whole number" if whole else "a number"
            least = f"above {low:g}" if above else f"of at least {low:g}"
            bounds = least if high == inf else f"from {low:g} to {high:g}"
            raise QueryError(f"the threshold {each.name!r} is {kind} {bounds}, not {value!r}")

    def having(self, options: dict[str, Any]) -> Self:
        """Return the thresholds with `options` replaced by name. Raise `QueryError` for an unknown name or an invalid value."""
        known = asdict(self)
        for name in options:
            if name not in known:
                raise QueryError(f"unknown threshold {name!r}; thresholds: {', '.join(known)}")
        return type(self)(**known | options)
