"""The request for the history of a state, from the editor and the panel."""

from __future__ import annotations

from dataclasses import dataclass, field

from clew.server.protocol.method import Method
from clew.server.protocol.shared import Location, RunRef


@dataclass(frozen=True)
class HistoryParams:
    """Asks who wrote a state and when. Exactly one of `location` with `expression`, `state` and `event` is given."""

    expression: str = ""
    """A name, an attribute, an item or a call at `location`."""
    location: Location | None = None
    """A line of the present text."""
    state: str = ""
    """`Class.attribute`, an attribute of any class, or a variable."""
    event: int | None = None
    """The event of a write."""
    run: str = ""
    maxWrites: int = 400
    skip: int | None = None
    """How many of the newest writes to leave out; null for the writes around the one in question, else the newest."""


@dataclass(frozen=True)
class HistoryLane:
    """One writer: a function with its caller, in one thread or task, for one request."""

    writer: str
    """The function; "" for the writers that were left out."""
    caller: str
    who: str
    """The thread, task or process."""
    request: str
    """The request on whose behalf it wrote, "" outside requests."""
    writes: int
    """How many of the shown writes are its own."""


@dataclass(frozen=True)
class StateWrite:
    event: int
    timeNs: float
    """The time since the run's start."""
    lane: int
    """The index of its writer."""
    state: str
    """The attribute or variable that was written; "" where the content of a container was changed."""
    change: str
    """`= 110`, `['book'] = 2`, `.append(5)` or `deleted`."""
    by: str
    """The function, with the value where it is a parameter's: `Cart.apply_coupon(110)`."""
    object: int
    """The number of the object, from 1, where several have the state; else 0."""
    isMarked: bool
    """Whether the newest call of the function in question read what this wrote, or the question names this write."""
    race: str
    """Why it is part of a race, as a sentence; "" if that is not known."""
    location: Location | None = None


@dataclass(frozen=True)
class LastWrite:
    """Who wrote a state last: before the read in question, if that is known."""

    sentence: str
    location: Location | None = None


@dataclass(frozen=True)
class HistoryResult:
    run: RunRef
    state: str
    """The state's name, or the expression where the answer has no state."""
    lanes: list[HistoryLane]
    """In the order of their first writes."""
    writes: list[StateWrite]
    """The oldest first."""
    hiddenWrites: int = 0
    """The number of writes that were left out."""
    laterWrites: int = 0
    """How many of the writes that were left out are newer than the shown ones."""
    objects: int = 0
    """How many objects have the state; 0 for one."""
    readNs: float | None = None
    """When the newest call of the function in question read the state: at its end, or before its next own write."""
    reader: str = ""
    """That function."""
    others: list[str] = field(default_factory=list)
    """Names of other states on which the expression depends."""
    notes: list[str] = field(default_factory=list)
    """Sentences about what is uncertain or may be missing."""
    last: LastWrite | None = None
    """None if the answer has no write."""
    message: str = ""
    """A sentence if there is no answer."""
    command: str = ""
    """The command that records what is missing; "" if nothing is."""


METHODS = {
    "clew/history": Method(HistoryParams, HistoryResult, "views.states.history:history_view"),
}
