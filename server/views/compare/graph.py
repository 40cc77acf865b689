"""Two flows as one graph: the calls of one side only, the common calls, and their times on each side.

Invariant: of a large graph the calls with the largest changes are shown, each with its callers.
"""

from __future__ import annotations

from clew.compare.requests.diff import Mutations
from clew.compare.requests.flow_union import Union, UnionCall
from clew.server.protocol.shared import Location
from clew.server.protocol.views.compare import CompareEdge, CompareGraph, CompareNode, CompareParams
from clew.server.views.slice.labels import short

MAX_NODES = 2000
LOCATED = ("function", "class")
"""Levels whose labels have source locations."""


def union_graph(
    mutations: Mutations, pair: tuple[int, int], ids: tuple[str, str], params: CompareParams
) -> CompareGraph:
    """Return the graph of the first category before and the second one after; `ids` are the categories' ids."""
    other, category = pair
    pairing = mutations.pairing
    union = mutations.union(category, other)
    visible = _visible(union, max(1, min(params.maxNodes, MAX_NODES)))
    name = pairing.name_of(category)
    title = f"{name} before and after"
    if mutations.is_pair:
        title = f"{name}: two requests"
    elif other != category:
        title = f"{name}: a changed flow and its likely precursor"
    return CompareGraph(
        category=ids[1],
        other=ids[0],
        title=title,
        sentence=union.sentence(),
        countBefore=union.counts[0],
        countAfter=union.counts[1],
        responseBeforeNs=union.response_before_ns,
        responseAfterNs=union.response_after_ns,
        nodes=[_node(union, call, depth, params.level) for call, depth in _deep(union) if call.number in visible],
        edges=_edges(union, visible),
        hiddenNodes=len(union.calls) - len(visible),
    )


def _visible(union: Union, limit: int) -> set[int]:
    """Return the calls with the largest changes, with all their callers."""
    parent = union.correspondence.parent
    visible: set[int] = set()
    for call in sorted(
        union.calls,
        key=lambda call: (not union.significant(call), call.status == "both", -abs(call.growth_ns), call.number),
    ):
        above = [call.number]
        while parent[above[-1]] >= 0 and parent[above[-1]] not in visible:
            above.append(parent[above[-1]])
        if call.number in visible or len(visible) + len(above) > limit:
            continue
        visible.update(above)
    return visible


def _deep(union: Union) -> list[tuple[UnionCall, int]]:
    """Return the calls with their depths."""
    return [(union.calls[number], depth) for _, depth, number in union.correspondence.lines()]


def _node(union: Union, call: UnionCall, depth: int, level: str) -> CompareNode:
    above = union.correspondence.parent[call.number]
    before, after = call.before, call.after
    return CompareNode(
        id=str(call.number),
        label=short(level, call.label),
        name=call.label,
        status=call.status,
        channel=call.node.channel,
        parent=str(above) if above >= 0 else "",
        depth=depth,
        beginBeforeNs=before.begin_ns if before else None,
        beginAfterNs=after.begin_ns if after else None,
        totalBeforeNs=before.total_ns if before else None,
        totalAfterNs=after.total_ns if after else None,
        ownBeforeNs=before.own_ns if before else None,
        ownAfterNs=after.own_ns if after else None,
        growthNs=call.growth_ns,
        p=call.p,
        location=Location(*call.location) if call.location and level in LOCATED else None,
    )


def _edges(union: Union, visible: set[int]) -> list[CompareEdge]:
    made = []
    for edge in union.correspondence.edges:
        if edge.source not in visible or edge.target not in visible:
            continue
        call = union.calls[edge.target]
        before = call.before.edge_ns if call.before and edge.status != "after" else None
        after = call.after.edge_ns if call.after and edge.status != "before" else None
        made.append(
            CompareEdge(
                source=str(edge.source),
                target=str(edge.target),
                status=edge.status,
                channel=call.node.channel,
                beforeNs=before,
                afterNs=after,
                p=call.p_edge if edge.status == "both" else None,
            )
        )
    return made
