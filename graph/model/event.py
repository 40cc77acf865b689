"""One event of a graph, with names for its numbers and steps to related events.

Invariant: an `Event` holds only its graph and its row, so it is cheap and never stale.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.records.format.event import Kind

if TYPE_CHECKING:
    from clew.graph.model.graph import ExecutionGraph
    from clew.graph.ops.slicing.neighbours import Neighbour

WARNING, ERROR = 30, 40
"""The levels from which a log line counts as a warning and as an error."""
LEVEL_NAMES = {10: "DEBUG", 20: "INFO", WARNING: "WARNING", ERROR: "ERROR", 50: "CRITICAL"}


@dataclass(frozen=True)
class Event:
    """One row of a graph with names for its numbers. Two events are equal when their graph and row are."""

    graph: ExecutionGraph = field(repr=False)
    id: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and other.graph is self.graph and other.id == self.id

    def __hash__(self) -> int:
        return hash((id(self.graph), self.id))

    @property
    def kind(self) -> str:
        """The kind's name in lower case: "enter", "log", "receive", …"""
        try:
            return Kind(self.graph.at("kind", self.id)).name.lower()
        except ValueError:
            return f"kind {self.graph.at('kind', self.id)}"

    @property
    def ts(self) -> int:
        return self.graph.at("ts", self.id)

    @property
    def wall_ns(self) -> int:
        return self.graph.wall_ns(self.id)

    @property
    def text(self) -> str:
        return self.graph.text(self.id)

    @property
    def channel(self) -> str:
        return self.graph.channel(self.id)

    @property
    def key(self) -> str:
        return self.graph.key_text(self.id)

    @property
    def function(self) -> str:
        return self.graph.function(self.id)

    @property
    def module(self) -> str:
        return self.graph.sites[self.graph.function_site(self.id)].module

    @property
    def file(self) -> str:
        return (self.graph.location(self.id) or ("", 0))[0]

    @property
    def line(self) -> int:
        return (self.graph.location(self.id) or ("", 0))[1]

    @property
    def level(self) -> str:
        """The name of a log's level ("ERROR"; "Level 25" for a number without a name), "" for other events."""
        if self.graph.at("kind", self.id) != Kind.LOG:
            return ""
        number = self.graph.key(self.id)
        return LEVEL_NAMES.get(number, f"Level {number}")

    @property
    def process(self) -> str:
        return self.graph.process_of(self.id).name

    @property
    def strand(self) -> str:
        return self.graph.strand_of(self.id).name

    @property
    def thread(self) -> str:
        return self.graph.strand_of(self.id).thread_name

    # Navigation. Operators import the model, so they are imported on use.

    def cause(self) -> Event | None:
        """Return the event that caused this one: the next step of the chain that answers why."""
        return self._step("cause")

    def effect(self) -> Event | None:
        """Return the nearest event that this one caused in another scope."""
        return self._step("effect")

    def next(self) -> Event | None:
        """Return the next event of the same thread or task."""
        return self._step("next_in_strand")

    def previous(self) -> Event | None:
        """Return the previous event of the same thread or task."""
        return self._step("previous_in_strand")

    def scope(self) -> Event | None:
        """Return the event that opened the causal scope around this one."""
        return self._step("scope")

    def caller(self) -> Event | None:
        """Return the ENTER of the call around this event."""
        row = self.graph.enclosing_call(self.id)
        return None if row < 0 else Event(self.graph, row)

    def out(self) -> Event | None:
        """Return the event that began the call around this one, or the scope if that is nearer."""
        from clew.graph.ops.causes.navigation import out

        row = out(self.graph, self.id)
        return None if row < 0 else Event(self.graph, row)

    def inside(self) -> Event | None:
        """Return the first event of the call or scope that this one began."""
        from clew.graph.ops.causes.navigation import inside

        row = inside(self.graph, self.id)
        return None if row < 0 else Event(self.graph, row)

    def why(self) -> list[Event]:
        """Return the chain of causes, this event first."""
        from clew.graph.ops.causes.why import why

        return [Event(self.graph, step.event) for step in why(self.graph, self.id)]

    def neighbours(self) -> list[Neighbour]:
        """Return the events one edge away, causes first."""
        from clew.graph.ops.slicing.neighbours import neighbours

        return neighbours(self.graph, self.id)

    def _step(self, name: str) -> Event | None:
        from clew.graph.ops.causes import why as steps

        row = getattr(steps, name)(self.graph, self.id)
        return None if row < 0 else Event(self.graph, row)

    def __str__(self) -> str:
        what = " ".join(part for part in (self.level, self.channel, self.text) if part)
        return f"{self.ts / 1e9:12.6f}  {self.process}/{self.strand}  {self.kind:<8} {self.function}  {what}".rstrip()
