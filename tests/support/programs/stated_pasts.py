"""What a run's graph knows to have happened before each mark: for programs that know it themselves, or state it."""

from __future__ import annotations

import re

from clew.graph.build.builder import build
from clew.records.format.event import Kind


def graphs_pasts(folder, numbers=int):
    """Number of each marked event -> bits of those that are before it: by edges and the order inside each region."""
    graph, problems = build(folder)
    assert not [problem.what for problem in problems if "no send of the same key" in problem.what]
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
    """Mark -> those before it, of a program whose comments state them: `#: b < a` says that `a`, and all before it, is
    before `b`, and nothing else is."""
    direct = {name: set(before.split()) for name, before in re.findall(r"#: (\S+) <(.*)", source)}

    def past(name):
        return direct[name].union(*map(past, direct[name]))

    return {name: past(name) for name in direct}


def found_pasts(folder):
    """The same of the graph. Marks have different texts."""
    names = []

    def number(name):
        assert name not in names
        names.append(name)
        return len(names) - 1

    pasts = graphs_pasts(folder, number)
    return {names[mark]: {names[other] for other in bits(seen)} - {names[mark]} for mark, seen in pasts.items()}
