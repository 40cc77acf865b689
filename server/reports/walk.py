"""The walks of a report: details of the events along and around the chains of its slices, and the steps between them.

Invariant: a step that the panel assembles from this data equals the server's answer. A step to an event outside the
report is missing, and the panel says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from clew.graph.model.graph import ExecutionGraph
from clew.graph.ops.causes.navigation import WAYS, way
from clew.server.protocol.codec import encode
from clew.server.reports.book import Book, size_of
from clew.server.session.session import Session, Task
from clew.server.views.walk import MOST, card, on_the_step, ways_of

MOST_EVENTS = 200
NEAREST = 3
"""Events per direction that are followed from an event; the panel opens the same ones."""
SHARE = 0.25
"""Share of the remaining space."""


def add_walks(session: Session, book: Book, run: str, task: Task) -> dict[str, Any] | None:
    """Return the data for the steps of walks, or None if the report has no start of a walk."""
    graph = session.open(run, task).graph
    begun = [one for one in book.answers if one["method"] == "clew/walk" and one["result"]["card"]]
    if not begun:
        return None
    slices = [one["result"] for one in book.answers if one["method"] == "clew/slice"]
    slices = [one for one in slices if one["run"]["id"] == run]
    wave: list[int] = [one["result"]["card"]["event"] for one in begun]
    wave += [step["event"] for one in slices for step in one["chain"]]
    nodes = [node["firstEvent"] for one in slices for node in one["nodes"]]
    room = int(book.room * SHARE)
    places: dict[int, dict[str, Any]] = {}
    while wave and room > 0 and len(places) < MOST_EVENTS:
        around: list[int] = []
        for event in _new(wave, places):
            task.check()
            place = {"card": encode(card(graph, event)), "ways": encode(ways_of(graph, event))}
            room -= size_of(place)
            if room < 0 or len(places) == MOST_EVENTS:
                break
            places[event] = place
            around += [end["event"] for found in place["ways"] for end in found["ends"][:NEAREST]]
        wave, nodes = [*around, *nodes], []
    found = {"places": list(places.values()), "crossings": list(_crossings(graph, places))}
    book.size += size_of(found)
    return found


def _new(wave: Iterable[int], places: dict[int, dict[str, Any]]) -> Iterator[int]:
    """Yield the events that are not yet in `places` when they are reached."""
    for event in wave:
        if event not in places:
            yield event


def _crossings(graph: ExecutionGraph, places: dict[int, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield steps with additional information: corrected clocks or missing events."""
    for event in places:
        for step in WAYS:
            for choice, end in enumerate(way(graph, event, step, MOST).ends):
                if end.event not in places:
                    continue
                corrected, uncertain, gaps = on_the_step(graph, event, step, end)
                if corrected or uncertain or gaps:
                    yield {
                        "event": event, "step": step, "choice": choice,
                        "clock": corrected, "uncertain": uncertain, "gaps": encode(gaps),
                    }  # fmt: skip
