"""What is told, unasked, of a run that goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class RunGrew:
    """A run that is being recorded, as it was found at the last look; told again only when there is more of it."""

    run: str
    """Its id."""
    name: str
    elapsedNs: float
    """Since its start."""
    processes: int
    events: int
    calls: int
    """Those included that were only counted."""
    errors: int
    """Log lines of level ERROR and above."""
    finished: bool = False
    """It is over: nothing more will be told of it, and all that is asked of it is of the whole run."""
    pushed: bool = False
    """A relay said so when it happened: there are new events of entities. The figures are those of the last look."""
    unheard: str = ""
    """Why no relay tells of it, so that its entities are about a second late; "" where one does, or may do so soon."""


@dataclass(frozen=True)
class RunGrewMessage:
    """To the panel: there is more of a run."""

    type: Literal["runGrew"]
    growth: RunGrew
