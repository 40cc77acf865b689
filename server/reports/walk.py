"""The walks of a report: what is known of events along the chains of its slices and around them, and the steps between them.

Invariant: a step put together of this is the server's answer to it, word for word; one that leads to an event which is not
there is not in the report, and the panel says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from clew.graph.model import ExecutionGraph
from clew.graph.ops.moves import WAYS, way
from clew.server.codec import encode
from clew.server.panel.walk import MOST, card, on_the_step, ways_of
from clew.server.reports.book import Book, size_of
from clew.server.session import Session, Task

MOST_EVENTS = 200
NEAREST = 3
"""Events of each direction that are gone to from an event, as the panel opens them."""
SHARE = 0.25
"""Of the room that is left."""


def add_walks(session: Session, book: Book, run: str, task: Task) -> dict[str, Any] | None:
    """What the steps of walks are put together of; None where the report has nothing that a walk begins at."""
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
    """Those that are not there when they are come to."""
    for event in wave:
        if event not in places:
            yield event


def _crossings(graph: ExecutionGraph, places: dict[int, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Steps of which more is to be said than where they lead: clocks that were put together, events that are missing."""
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
