"""Notifications about a live run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class RunGrew:
    """The state of a live run at the last read; sent again only when the run has grown."""

    run: str
    """The id of the run."""
    name: str
    elapsedNs: float
    """Time since the run's start."""
    processes: int
    events: int
    calls: int
    """Number of calls, including those that were only counted."""
    errors: int
    """Log lines of level ERROR and above."""
    finished: bool = False
    """The run is over: no further notification follows, and requests refer to the whole run."""
    pushed: bool = False
    """Pushed by a relay immediately: there are new events of entities. The statistics are those of the last read."""
    unheard: str = ""
    """Why no relay pushes the run, so that its entities are about a second late; "" if one does, or may do so soon."""


@dataclass(frozen=True)
class RunGrewMessage:
    """To the panel: a run has grown."""

    type: Literal["runGrew"]
    growth: RunGrew
