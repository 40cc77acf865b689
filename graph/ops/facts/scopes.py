"""Find the call that cancelled a scope of anyio behind each cancellation that the scope asks for.

A scope is cancelled once, which is recorded as a cancellation of its host task. The scope then asks its tasks, at once or in
callbacks of the event loop, again and again until they have left it. Only the first request for each task is recorded.
"""

from __future__ import annotations

from bisect import bisect_right

from clew.graph.ops.facts.facts import Fact, Facts
from clew.records.format.facts import Cancel

SCOPE = "anyio.scope"
_MOST_CALLBACKS = 100


def origin_of(facts: Facts, cancel: Fact[Cancel]) -> Fact[Cancel]:
    """Return the cancellation of a scope behind a request of it, the request itself if that was not recorded."""
    if cancel.channel != SCOPE or _is_origin(cancel):
        return cancel
    graph, origins = facts.graph, _origins(facts)
    row = cancel.row
    for _ in range(_MOST_CALLBACKS):
        known = origins.get(graph.at("region", row), [])
        place = bisect_right(known, row, key=lambda origin: origin.row)
        if place:
            return known[place - 1]
        edges, targets = graph.index.into(graph.at("region", row))
        opener = int(graph.regions.opener[graph.at("region", row)])
        sources = [
            int(graph.edge_src[edge]) for edge, at in zip(edges.tolist(), targets.tolist(), strict=True) if at == opener
        ]
        if not sources:
            break
        row = sources[0]
    return cancel


def is_repeated(cancel: Fact[Cancel]) -> bool:
    """Return whether a cancellation interrupts each await of its task until the task has left the scope."""
    return cancel.channel == SCOPE


def _is_origin(cancel: Fact[Cancel]) -> bool:
    return bool(cancel.text.at) and cancel.text.at[0].function.endswith("CancelScope.cancel")


def _origins(facts: Facts) -> dict[int, list[Fact[Cancel]]]:
    """Return the cancellations of scopes by region, in the order of rows."""
    known: dict[int, list[Fact[Cancel]]] | None = facts.graph.answers.get("cancelled scopes")
    if known is None:
        known = facts.graph.answers["cancelled scopes"] = {}
        for cancel in sorted(facts.cancels, key=lambda cancel: cancel.row):
            if cancel.channel == SCOPE and _is_origin(cancel):
                known.setdefault(facts.graph.at("region", cancel.row), []).append(cancel)
    return known
