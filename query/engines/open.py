"""Open a partitioned run. An engine answers the same queries as for any run; only this module selects the engine."""

from __future__ import annotations

import weakref
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clew.graph.model.graph import ExecutionGraph
from clew.query.api import Run
from clew.query.engines.distributed_slice import Coordinator
from clew.query.engines.engine import PartsEngine
from clew.query.engines.local_pool import LocalPool, Pool
from clew.query.engines.partition_files import read_manifest
from clew.query.engines.worker import Worker
from clew.records.errors import ClewError

if TYPE_CHECKING:
    from clew.query.engines.partition_files import Manifest

LOCAL = "local"


class PartsRun(Run):
    """A partitioned run. Reading its graph joins all parts; most queries do not read the graph."""

    def __init__(self, manifest: Manifest, where: str | Path, engine: PartsEngine) -> None:
        # The dataclass is frozen, so its fields cannot be assigned.
        self.__dict__.update(
            info=manifest.info, folder=Path(str(where)), problems=list(manifest.problems), engine=engine
        )

    @cached_property
    def graph(self) -> ExecutionGraph:
        assert isinstance(self.engine, PartsEngine)
        return self.engine.gather(list(range(len(self.engine.manifest.parts)))).graph

    def close(self) -> None:
        """End the workers."""
        assert isinstance(self.engine, PartsEngine)
        self.engine.close()


def open_parts(where: str | Path, engine: str | None = None) -> PartsRun:
    """Open a partitioned run. `engine` is "local" (all parts in this process, the default), "ray" (an instance started here, or
    the one at RAY_ADDRESS), or a Ray cluster's address, "ray://HOST:PORT". Raises `ClewError`."""
    manifest = read_manifest(where)
    workers = pool(where, manifest, engine)
    answering = PartsEngine(manifest, Coordinator(workers))
    run = PartsRun(manifest, where, answering)
    # End the workers with the engine, not with the run: answers that outlive the run still call them.
    weakref.finalize(answering, workers.close)
    return run


def pool(where: str | Path, manifest: Manifest, engine: str | None) -> Pool:
    """Return the workers of an engine."""
    if engine in (None, LOCAL):
        return LocalPool(lambda part: Worker.of(where, manifest, part), len(manifest.parts))
    check_engine(engine)
    from clew.query.engines.ray import RayPool

    return RayPool(where, manifest, engine or "")


def check_engine(engine: str | None) -> None:
    """Check the name of an engine. Raises `ClewError` for an unknown engine."""
    if engine not in (None, LOCAL, "ray") and not str(engine).startswith("ray://"):
        raise ClewError(
            f'unknown engine {engine!r}; write "local", "ray", or the address of a cluster, "ray://HOST:PORT"'
        )
