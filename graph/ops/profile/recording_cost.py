"""Compute the yield and cost of recording functions: their events, their calls, and their calls per second."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.model.graph import ExecutionGraph
from clew.records.format.event import Kind

CALL_NS = 40
"""The extra time of a recorded call in ns, both probes together, in real programs (docs/recording.md)."""
COUNTED_NS = 10
"""The extra time of a call that is only counted, in ns."""
HOT = 1_000_000
"""The calls of a function per second from which the recording overhead is noticeable."""


@dataclass(frozen=True)
class Rates:
    """Sums over some functions of a run."""

    events: int
    calls: int
    """The calls, including those that were only counted."""
    duration_ns: int
    """The duration of the run, from its first event to its last."""
    all_events: int
    overhead: float
    """The estimated share of the run's time that recording the calls took, assuming that one processor did all the
    work.
    """

    @property
    def per_second(self) -> float:
        return self.calls * 1e9 / self.duration_ns if self.duration_ns else 0.0

    @property
    def share(self) -> float:
        """Return the share of the run's events."""
        return self.events / self.all_events if self.all_events else 0.0


@dataclass(frozen=True)
class SiteRates:
    """The rates by site for a whole run."""

    events: npt.NDArray[np.int64]
    calls: npt.NDArray[np.int64]
    counted: npt.NDArray[np.int64]
    duration_ns: int

    @classmethod
    def of(cls, graph: ExecutionGraph) -> SiteRates:
        size = len(graph.sites)
        events = np.bincount(graph.site, minlength=size)
        calls = np.bincount(graph.site[graph.kind == Kind.ENTER], minlength=size)
        counted = np.zeros(size, np.int64)
        for site, count in graph.counted.items():
            counted[site] = count
        duration = int(graph.ts.max() - graph.ts.min()) if len(graph.ts) else 0
        return cls(events, calls, counted, duration)

    def any_faster(self, per_second: float) -> bool:
        """Return whether any function was called at least this often."""
        most = int((self.calls + self.counted).max(initial=0))
        return bool(self.duration_ns) and most * 1e9 / self.duration_ns >= per_second

    def together(self, sites: Iterable[int]) -> Rates:
        some = list(dict.fromkeys(sites))
        calls, counted = int(self.calls[some].sum()), int(self.counted[some].sum())
        cost = calls * CALL_NS + counted * COUNTED_NS
        return Rates(
            events=int(self.events[some].sum()),
            calls=calls + counted,
            duration_ns=self.duration_ns,
            all_events=int(self.events.sum()),
            overhead=min(1.0, cost / self.duration_ns) if self.duration_ns else 0.0,
        )
