"""The events that a graph orders before each mark, for programs that know or state their own causality."""

from __future__ import annotations

import re

from clew.graph.build.builder import build
from clew.records.format.event import Kind


def graphs_pasts(folder, numbers=int):
    """Return, by the number of each marked event, the bits of the events before it, by edges and the order in each region."""
    graph, problems = build(folder)
    assert not [problem.what for problem in problems if "no matching send" in problem.what]
    incoming, outgoing = {}, set()
    for source, target in zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True):
        incoming.setdefault(target, []).append(source)
        outgoing.add(source)
    rows = sorted(range(len(graph.ts)), key=lambda row: (int(graph.ts[row]), row))
    regions, sent, pasts = {}, {}, {}
    for row in rows:
        region = int(graph.region[row])
        seen = regions.get(region, 0)
        for source in incoming.get(row, ()):
            seen |= sent[source]
        if int(graph.kind[row]) == Kind.MARK:
            number = numbers(graph.text(row))
            seen |= 1 << number
            pasts[number] = seen
        regions[region] = seen
        if row in outgoing:
            sent[row] = seen
    return pasts


def bits(mask):
    return {number for number in range(mask.bit_length()) if mask >> number & 1}


def stated_pasts(source):
    """Return the marks before each mark as stated by comments: `#: b < a` states that exactly `a`, and all marks before it,
    are before `b`."""
    direct = {name: set(before.split()) for name, before in re.findall(r"#: (\S+) <(.*)", source)}

    def past(name):
        return direct[name].union(*map(past, direct[name]))

    return {name: past(name) for name in direct}


def found_pasts(folder):
    """Return the marks before each mark by the graph. Marks must have different texts."""
    names = []

    def number(name):
        assert name not in names
        names.append(name)
        return len(names) - 1

    pasts = graphs_pasts(folder, number)
    return {names[mark]: {names[other] for other in bits(seen)} - {names[mark]} for mark, seen in pasts.items()}
