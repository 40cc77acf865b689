"""Run workers as Ray actors: one per part. Ray restarts a lost actor on any machine.

Invariants: only this module imports Ray, and only on use. A restarted actor loads its part again, and `distributed_slice`
restores its slice state. A Ray instance that this module started ends with the pool.
"""

from __future__ import annotations

import importlib
import os
import time
import uuid
from pathlib import Path
from typing import Any

from clew.query.engines.local_pool import WorkerLost
from clew.query.engines.partition_files import Manifest
from clew.query.engines.worker import Worker
from clew.records.errors import ClewError

DEADLINE = 120.0
"""Maximum seconds for an actor to load its part, or to restart."""
OBJECTS = 80_000_000
"""Bytes of shared memory for a Ray instance started here; mail is small."""


class RayPool:
    """A pool of actors, in a running Ray instance or in one started on this machine."""

    def __init__(self, where: str | Path, manifest: Manifest, address: str) -> None:
        self.ray = _ray()
        self.name = address
        self.started = self._connect(address)
        remote = self.ray.remote(_Actor).options(num_cpus=0, max_restarts=-1, max_task_retries=0, max_concurrency=1)
        place = str(where) if "://" in str(where) else str(Path(where).absolute())
        self.actors = [remote.remote(place, manifest, part) for part in range(len(manifest.parts))]
        self.open: dict[Any, int] = {}
        self.lives = [""] * len(self.actors)
        """Identifies each life of an actor: a restarted actor does not answer calls from before the restart."""
        try:
            # Report a damaged part now, and not in the first query.
            for part in range(self.parts):
                self._ready(part, time.monotonic() + DEADLINE)
        except BaseException:
            self.close()
            raise

    @property
    def parts(self) -> int:
        return len(self.actors)

    def _connect(self, address: str) -> bool:
        """Connect to Ray. Return whether the pool started this Ray instance."""
        if self.ray.is_initialized():
            return False
        options: dict[str, Any] = {"log_to_driver": False, "configure_logging": False}
        try:
            if address.startswith("ray://") or os.environ.get("RAY_ADDRESS"):
                self.ray.init(**({"address": address} if address != "ray" else {}), **options)
            else:
                self.ray.init(address="local", include_dashboard=False, object_store_memory=OBJECTS, **options)
        except Exception as error:  # exceptions of Ray, of gRPC and of the system
            message = (str(error) or type(error).__name__).splitlines()[0]
            where = address if address != "ray" else os.environ.get("RAY_ADDRESS", "on this machine")
            raise ClewError(
                f"cannot reach a Ray cluster at {where} ({message}); start one there (`ray start --head "
                "--ray-client-server-port 10001`), or omit the engine to answer in this process"
            ) from None
        return True

    def submit(self, part: int, method: str, *arguments: Any) -> None:
        try:
            self.open[self._call(part, method, arguments)] = part
        except self.ray.exceptions.RayActorError:
            # `next` raises the loss as the answer of this call, as for other losses.
            self.open[self.ray.put(WorkerLost(part))] = part

    def _call(self, part: int, method: str, arguments: tuple[Any, ...]) -> Any:
        return self.actors[part].call.remote(self.lives[part], method, arguments)

    def next(self, seconds: float | None = None) -> tuple[int, Any] | None:
        done, _ = self.ray.wait(list(self.open), num_returns=1, timeout=seconds)
        if not done:
            return None
        part = self.open.pop(done[0])
        answer = self._get(part, done[0])
        return part, answer

    def call(self, part: int, method: str, *arguments: Any) -> Any:
        try:
            reference = self._call(part, method, arguments)
        except self.ray.exceptions.RayActorError:
            raise WorkerLost(part) from None
        return self._get(part, reference)

    def _get(self, part: int, reference: Any) -> Any:
        errors = self.ray.exceptions
        try:
            answer = self.ray.get(reference)
        except (errors.RayActorError, errors.WorkerCrashedError, errors.ObjectLostError, errors.NodeDiedError):
            raise WorkerLost(part) from None
        except errors.RayTaskError as error:
            cause = error.cause
            if isinstance(cause, ClewError):
                raise cause from None
            raise
        if isinstance(answer, WorkerLost):
            raise answer
        return answer

    def revive(self, part: int) -> None:
        self._ready(part, time.monotonic() + DEADLINE)

    def _ready(self, part: int, until: float) -> None:
        while True:
            try:
                self.lives[part], error = self._get(part, self.actors[part].status.remote())
                break
            except (WorkerLost, self.ray.exceptions.RayActorError):
                if time.monotonic() > until:
                    raise ClewError(
                        f"the worker of part {part} does not start; see the Ray logs on its machine (`ray logs`)"
                    ) from None
                time.sleep(0.05)
        if error is not None:
            raise error

    def kill(self, part: int) -> None:
        """Kill a worker process, as a crash would; Ray restarts it."""
        self.ray.kill(self.actors[part], no_restart=False)

    def close(self) -> None:
        if not self.ray.is_initialized():
            return
        if self.started:
            self.ray.shutdown()
        else:
            for actor in self.actors:
                self.ray.kill(actor)
        self.actors = []


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise ClewError(
            "Ray is not installed; `pip install 'clew[cluster]'`, or omit the engine to answer in this process"
        ) from None


class _Actor:
    """A worker that loads its part at the start. The first call raises the error if loading failed."""

    def __init__(self, where: str, manifest: Manifest, part: int) -> None:
        self.part, self.life = part, uuid.uuid4().hex
        self.worker: Worker | None = None
        self.error: ClewError | None = None
        try:
            self.worker = Worker.of(where, manifest, part)
        except ClewError as error:
            self.error = error

    def status(self) -> tuple[str, ClewError | None]:
        return self.life, self.error

    def call(self, life: str, method: str, arguments: tuple[Any, ...]) -> Any:
        if life != self.life:
            return WorkerLost(self.part)
        return getattr(self.worker, method)(*arguments)
