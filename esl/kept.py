"""Answers that are kept, the latest ones. Invariant: the last `most` answers that were asked for are among them, and never are
there more than twice as many.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """Two generations: what is asked for again when the younger one is full is taken over into the next."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def get(self, key: K) -> V | None:
        found = self._young.get(key)
        if found is None and (found := self._old.get(key)) is not None:
            self.put(key, found)
        return found

    def retain(self, still: Callable[[V], bool]) -> None:
        """Forgets what does not hold any more."""
        self._young = {key: value for key, value in self._young.items() if still(value)}
        self._old = {key: value for key, value in self._old.items() if still(value)}

    def put(self, key: K, value: V) -> None:
        if len(self._young) >= self.most:
            self._old, self._young = self._young, {}
        self._young[key] = value
