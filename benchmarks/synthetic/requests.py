"""Makes a stored run of very many requests, of any number of categories, by numpy.

A request is a call in one of four servers that calls on, sends a message to one of four stores, and calls on: 51 events, 24
calls. Invariant: a run of the same numbers is the same but for its id; `slower` names a category in which each call of one
function takes 4 µs more.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from clew.graph.build.assemble import Events, Tables, assemble, scopes_of
from clew.graph.model.edge_order import Joined
from clew.graph.model.graph import Extensions, Process, Site, Strand, Texts
from clew.graph.store.store import fingerprint, save
from clew.records.format.event import EdgeKind, Kind
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, finish_run, save_run

SERVERS = 4
CALLS, BELOW = 16, 8
"""Calls in a server and in a store."""
EVENTS = 2 * CALLS + 2 + 2 * BELOW + 1
SLOT = 200_000
"""Nanoseconds from a server's request to its next."""
FUNCTIONS = 200


def _shape(rng: np.random.Generator, calls: int) -> list[tuple[int, int]]:
    """Kind and site of the events of a random tree of calls."""
    parent = [-1, *(int(rng.integers(max(0, place - 4), place)) for place in range(1, calls))]
    site = rng.integers(1, FUNCTIONS + 1, calls).tolist()

    def told(place: int) -> list[tuple[int, int]]:
        inside = [event for kid in range(place + 1, calls) if parent[kid] == place for event in told(kid)]
        return [(Kind.ENTER, site[place]), *inside, (Kind.EXIT, site[place])]

    return told(0)


def write_requests(
    workspace: Path, requests: int, categories: int, *, seed: int = 1, slower: int | None = None
) -> Path:
    """The run's folder, with its store."""
    rng = np.random.default_rng(7)
    tops = [_shape(rng, CALLS) for _ in range(categories)]
    for top in tops:
        top.insert(1, (Kind.REQUEST, 0))
        top.insert(len(top) // 2, (Kind.SEND, 0))
    lows = [[(Kind.RECEIVE, 0), *_shape(rng, BELOW)] for _ in range(categories)]
    rng = np.random.default_rng(seed)
    each = requests // SERVERS
    category = rng.integers(0, categories, (SERVERS, each))
    parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    sent = []
    for shapes in (tops, lows):
        kinds, sites = (np.array([[event[at] for event in shape] for shape in shapes], np.uint32) for at in (0, 1))
        for server in range(SERVERS):
            of = category[server]
            gap = rng.gamma(4.0, 250.0, (each, kinds.shape[1])).astype(np.int64)
            if slower is not None:
                late = (sites == sites[slower, -1]) & (kinds == Kind.ENTER)
                late[:slower] = late[slower + 1 :] = False
                gap[:, 1:] += np.where(late[of][:, :-1], 4000, 0)
            begin = np.arange(each) * SLOT if shapes is tops else sent[server] + 2_000
            ts = begin[:, None] + np.cumsum(gap, axis=1)
            kind = kinds[of]
            if shapes is tops:
                sent.append(ts[kind == Kind.SEND])
            parts.append((ts.ravel(), kind.ravel().astype(np.uint8), sites[of].ravel()))
    ts, kind, site = (np.concatenate(column) for column in zip(*parts, strict=True))
    del parts
    start = np.concatenate(([0], np.cumsum([each * (2 * CALLS + 2)] * SERVERS + [each * (2 * BELOW + 1)] * SERVERS)))
    extended = np.flatnonzero((kind == Kind.REQUEST) | (kind == Kind.SEND) | (kind == Kind.RECEIVE))
    ext = np.full(len(kind), -1, np.int32)
    ext[extended] = np.arange(len(extended))
    channel = np.where(kind[extended] == Kind.REQUEST, 1, 2).astype(np.uint32)
    nothing = np.zeros(len(extended), np.uint64)
    texts = Texts(np.zeros(len(extended) + 1, np.int64), np.zeros(0, np.uint8))
    extensions = Extensions(nothing, channel, nothing.astype(np.uint16), texts)
    send, receive = np.flatnonzero(kind == Kind.SEND), np.flatnonzero(kind == Kind.RECEIVE)
    names = [f"{what}{number}" for what in ("server", "store") for number in range(SERVERS)]
    tables = Tables(
        ["", "Request", "queue"],
        [Site("", "", "", 0, 0, "")]
        + [Site("app", f"f{number:03}", "/app.py", number, number, "function") for number in range(FUNCTIONS)],
        [
            Strand(place, place, 1, 0, "thread", "main", "main", int(start[place]), int(start[place + 1]))
            for place in range(len(names))
        ],
        [
            Process(
                place, place + 1, place + 1, 0, 0, name[:-1], (), "", f"host{name[-1]}", "", "closed", False, 0, 0, 0
            )
            for place, name in enumerate(names)
        ],
    )
    folder, info = create_run(workspace, name="requests", command=["app"], spec="", plan=dump(Plan()), cwd=workspace)
    save_run(folder, info)
    finish_run(folder, info, 0, [])
    edges = Joined(send, receive, np.full(len(send), EdgeKind.USE, np.uint8))
    events = Events(ts, kind, site, ext, np.arange(len(ts), dtype=np.int32), start, extensions)
    graph, problems = assemble(info, events, scopes_of(events), edges, tables)
    save(folder, graph, problems, fingerprint(folder))
    return folder
