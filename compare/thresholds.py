"""What the thresholds of all comparisons share: they are frozen dataclasses of numbers, each with the bounds it makes sense in.

Invariant: what is no number, or beyond its bounds, is refused by its name before anything is compared.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from math import inf
from numbers import Integral, Real
from typing import Any, Self

from clew.graph.nodes import QueryError


def bounded(default: float, low: float = 0.0, high: float = inf, *, above: bool = False) -> Any:
    """A threshold from `low` to `high`, both included, `low` not with `above`. A whole number if its default is one."""
    return field(default=default, metadata={"bounds": (low, high, above)})


def fraction(default: float) -> Any:
    """A threshold that is a part of something."""
    return bounded(default, 0.0, 1.0)


@dataclass(frozen=True)
class Bounded:
    """Raises `QueryError` for the first of its thresholds that is no such number."""

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
        """With `options` in place of the thresholds of these names. Raises `QueryError` for a name or value that is none."""
        known = asdict(self)
        for name in options:
            if name not in known:
                raise QueryError(f"there is no threshold {name!r}; thresholds: {', '.join(known)}")
        return type(self)(**known | options)
