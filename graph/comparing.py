"""How the query API reaches comparisons of many requests, which are in `clew.compare`, a room above: whoever opens runs
provides them here, by name.

Invariant: nothing is imported before the first comparison is asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from clew.graph.nodes import QueryError


class Answer(Protocol):
    """What every comparison answers."""

    def sentence(self) -> str: ...
    def table(self) -> Any: ...
    def to_json(self) -> Any: ...


Comparison = Callable[..., Answer]
_loaders: dict[str, Callable[[], Comparison]] = {}


def provide(name: str, load: Callable[[], Comparison]) -> None:
    """From now on the comparison of this name is what `load` gives."""
    _loaders[name] = load


def comparison(name: str) -> Comparison:
    """Raises `QueryError` where nobody provided it."""
    if name not in _loaders:
        raise QueryError(f"there is nothing here to {name} requests with: open the run with clew.open")
    return _loaders[name]()
