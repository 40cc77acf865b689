"""Where the workers are: the one interface that engines differ behind, and the one with all workers in this process."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from clew.graph.engines.worker import Worker


class WorkerLost(Exception):
    """A worker ended before it answered; `part` says whose. What it knew of slices is gone."""

    def __init__(self, part: int) -> None:
        super().__init__(part)
        self.part = part


class Pool(Protocol):
    """Workers, one per part. A worker answers one call at a time; calls of different workers overlap."""

    name: str

    @property
    def parts(self) -> int: ...

    def submit(self, part: int, method: str, *arguments: Any) -> None:
        """Calls a method of a worker, which has no other call open."""

    def next(self, seconds: float | None = None) -> tuple[int, Any] | None:
        """Waits for an answer, at most so long: the part and what its worker answered, None when there is none yet.

        Raises `WorkerLost`, and what the worker raised."""

    def call(self, part: int, method: str, *arguments: Any) -> Any:
        """Calls a worker that has no other call open, and waits; other workers' answers stay for `next`."""

    def revive(self, part: int) -> None:
        """Waits until a lost worker is there again, without what it knew of slices. Raises `ClewError` if that fails."""

    def close(self) -> None: ...


@dataclass(eq=False)
class LocalPool:
    """All workers in this process, one call after the other; in an order by chance when `chance` is given."""

    make: Callable[[int], Worker]
    parts: int
    chance: random.Random | None = None
    name: str = "local"
    workers: dict[int, Worker] = field(default_factory=dict)
    waiting: list[tuple[int, str, tuple[Any, ...]]] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)

    def submit(self, part: int, method: str, *arguments: Any) -> None:
        self.waiting.append((part, method, arguments))

    def next(self, seconds: float | None = None) -> tuple[int, Any] | None:
        if not self.waiting:
            return None
        part, method, arguments = self.waiting.pop(self.chance.randrange(len(self.waiting)) if self.chance else 0)
        return part, self.call(part, method, *arguments)

    def call(self, part: int, method: str, *arguments: Any) -> Any:
        if part in self.lost:
            raise WorkerLost(part)
        if part not in self.workers:
            self.workers[part] = self.make(part)
        return getattr(self.workers[part], method)(*arguments)

    def kill(self, part: int) -> None:
        """As if the worker's process had died."""
        self.workers.pop(part, None)
        self.lost.add(part)

    def revive(self, part: int) -> None:
        self.lost.discard(part)

    def close(self) -> None:
        self.workers.clear()
        self.waiting.clear()
