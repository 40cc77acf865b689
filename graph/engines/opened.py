"""A run in parts, opened: the same questions as to any run, answered by an engine. The one place that picks the engine."""

from __future__ import annotations

import weakref
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from clew.graph.engines.engine import PartsEngine
from clew.graph.engines.folder import read_manifest
from clew.graph.engines.pool import LocalPool, Pool
from clew.graph.engines.traverse import Crew
from clew.graph.engines.worker import Worker
from clew.graph.model import ExecutionGraph
from clew.graph.query import Run
from clew.records.errors import ClewError

if TYPE_CHECKING:
    from clew.graph.engines.folder import Manifest

LOCAL = "local"


class PartsRun(Run):
    """A run in parts. Its graph is put together from all of them when it is asked for, which questions do not."""

    def __init__(self, manifest: Manifest, where: str | Path, engine: PartsEngine) -> None:
        # A frozen value is filled this way only.
        self.__dict__.update(
            info=manifest.info, folder=Path(str(where)), problems=list(manifest.problems), engine=engine
        )

    @cached_property
    def graph(self) -> ExecutionGraph:
        assert isinstance(self.engine, PartsEngine)
        return self.engine.gather(list(range(len(self.engine.manifest.parts)))).graph

    def close(self) -> None:
        """Ends the workers."""
        assert isinstance(self.engine, PartsEngine)
        self.engine.close()


def open_parts(where: str | Path, engine: str | None = None) -> PartsRun:
    """A run in parts: `engine` is "local" (all parts in this process, the default), "ray" (one that is started here, or
    that RAY_ADDRESS names), or a Ray cluster's address, "ray://HOST:PORT". Raises `ClewError`."""
    manifest = read_manifest(where)
    workers = pool(where, manifest, engine)
    answering = PartsEngine(manifest, Crew(workers))
    run = PartsRun(manifest, where, answering)
    # Not with the run: answers that are kept go on asking.
    weakref.finalize(answering, workers.close)
    return run


def pool(where: str | Path, manifest: Manifest, engine: str | None) -> Pool:
    """The workers of an engine."""
    if engine in (None, LOCAL):
        return LocalPool(lambda part: Worker.of(where, manifest, part), len(manifest.parts))
    check_engine(engine)
    from clew.graph.engines.ray import RayPool

    return RayPool(where, manifest, engine or "")


def check_engine(engine: str | None) -> None:
    """Raises `ClewError` for what is no engine."""
    if engine not in (None, LOCAL, "ray") and not str(engine).startswith("ray://"):
        raise ClewError(
            f'there is no engine {engine!r}; write "local", "ray", or a cluster\'s address, "ray://HOST:PORT"'
        )
