"""Define the pool interface of all engines, and the pool with all workers in this process."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from clew.query.engines.worker import Worker


class WorkerLost(Exception):
    """Raised when the worker of `part` ended before it answered. Its slice state is lost."""

    def __init__(self, part: int) -> None:
        super().__init__(part)
        self.part = part


class Pool(Protocol):
    """Workers, one per part. A worker answers one call at a time; calls of different workers overlap."""

    name: str

    @property
    def parts(self) -> int: ...

    def submit(self, part: int, method: str, *arguments: Any) -> None:
        """Start a call of a worker that has no other call open."""

    def next(self, seconds: float | None = None) -> tuple[int, Any] | None:
        """Wait for an answer up to the timeout. Return the part and the answer of its worker, or None on timeout.

        Raises `WorkerLost`, and exceptions of the worker."""

    def call(self, part: int, method: str, *arguments: Any) -> Any:
        """Call a worker that has no other call open, and wait. Answers of other workers remain for `next`."""

    def revive(self, part: int) -> None:
        """Wait until a lost worker has restarted, without its slice state. Raises `ClewError` on failure."""

    def close(self) -> None: ...


@dataclass(eq=False)
class LocalPool:
    """A pool with all workers in this process. Calls run one after another, in random order if `chance` is given."""

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
        """Simulate the death of the worker process."""
        self.workers.pop(part, None)
        self.lost.add(part)

    def revive(self, part: int) -> None:
        self.lost.discard(part)

    def close(self) -> None:
        self.workers.clear()
        self.waiting.clear()
