"""One event of a graph, with names for its numbers, and the ways on from it.

Invariant: it holds nothing but its graph and its row, so it is as cheap as both and never stale.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clew.records.format.event import Kind

if TYPE_CHECKING:
    from clew.graph.model.graph import ExecutionGraph
    from clew.graph.ops.slicing.neighbours import Neighbour

LEVEL_NAMES = {10: "DEBUG", 20: "INFO", 30: "WARNING", 40: "ERROR", 50: "CRITICAL"}


@dataclass(frozen=True)
class Event:
    """One row of a graph with names for its numbers; equal when graph and row are."""

    graph: ExecutionGraph = field(repr=False)
    id: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and other.graph is self.graph and other.id == self.id

    def __hash__(self) -> int:
        return hash((id(self.graph), self.id))

    @property
    def kind(self) -> str:
        """The kind's name in small letters: "enter", "log", "receive", …"""
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
        """A log's level by name ("ERROR"; "Level 25" for a number without one), "" for other events."""
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

    # Walking: operators need the model, so they are found when asked for.

    def cause(self) -> Event | None:
        """The event that caused this one: the next step of the chain that answers why."""
        return self._walked("cause")

    def effect(self) -> Event | None:
        """The nearest event that this one caused, in another scope."""
        return self._walked("effect")

    def next(self) -> Event | None:
        """What the same thread or task did next."""
        return self._walked("next_in_strand")

    def previous(self) -> Event | None:
        """What the same thread or task did before."""
        return self._walked("previous_in_strand")

    def scope(self) -> Event | None:
        """The event that opened the causal scope around this one."""
        return self._walked("scope")

    def caller(self) -> Event | None:
        """The ENTER of the call around this event."""
        row = self.graph.enclosing_call(self.id)
        return None if row < 0 else Event(self.graph, row)

    def out(self) -> Event | None:
        """The event that began what is around this one: the call, or the scope where that is nearer."""
        from clew.graph.ops.causes.navigation import out

        row = out(self.graph, self.id)
        return None if row < 0 else Event(self.graph, row)

    def inside(self) -> Event | None:
        """The first event of the call or scope that this one began."""
        from clew.graph.ops.causes.navigation import inside

        row = inside(self.graph, self.id)
        return None if row < 0 else Event(self.graph, row)

    def why(self) -> list[Event]:
        """The chain of causes, this event first."""
        from clew.graph.ops.causes.why import why

        return [Event(self.graph, step.event) for step in why(self.graph, self.id)]

    def neighbours(self) -> list[Neighbour]:
        """What is one edge away, causes first."""
        from clew.graph.ops.slicing.neighbours import neighbours

        return neighbours(self.graph, self.id)

    def _walked(self, way: str) -> Event | None:
        from clew.graph.ops.causes import why as walk

        row = getattr(walk, way)(self.graph, self.id)
        return None if row < 0 else Event(self.graph, row)

    def __str__(self) -> str:
        what = " ".join(part for part in (self.level, self.channel, self.text) if part)
        return f"{self.ts / 1e9:12.6f}  {self.process}/{self.strand}  {self.kind:<8} {self.function}  {what}".rstrip()
