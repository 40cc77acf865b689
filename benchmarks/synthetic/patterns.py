"""One thread's work as a stored program would leave it: a server's loop of 26 functions, some nested six deep, with noise.

Loops go round a varying number of times, caches miss, writes are retried and raise, now and then something is cleaned up. It
never ends. Invariant: as many events of the same seed are the same, and fewer of it are their beginning.
"""

from __future__ import annotations

import random
from array import array
from collections.abc import Callable
from pathlib import Path

import numpy as np

from clew.graph.build.assemble import Events, Tables, assemble, scopes_of
from clew.graph.model.edge_order import Joined
from clew.graph.model.graph import ExecutionGraph, Extensions, Process, Site, Strand, Texts
from clew.records.format.event import Kind
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run

FUNCTIONS = (
    "main", "serve", "accept", "parse", "token", "route", "list", "show", "buy", "admin", "query", "lock", "read", "unlock",
    "render", "row", "cache_get", "cache_put", "begin", "reserve", "write", "commit", "flush", "sync", "rollback", "log",
)  # fmt: skip
_SITE = {name: number + 1 for number, name in enumerate(FUNCTIONS)}
Code = tuple[int, ...]
"""Events in short: the kind and 8 times the site."""


def _call(function: str, *inside: Code, end: Kind = Kind.EXIT) -> Code:
    events = [event for part in inside for event in part]
    return (Kind.ENTER + 8 * _SITE[function], *events, end + 8 * _SITE[function])


def _rounds(rng: random.Random) -> Callable[[], Code]:
    """What makes the next round of the server's loop."""
    token, row, log = _call("token"), _call("row"), _call("log")
    lock, unlock, read, write = _call("lock"), _call("unlock"), _call("read"), _call("write")
    commit = _call("commit", _call("flush"), _call("sync"))
    accept = [_call("accept", _call("parse", *[token] * count), _call("route")) for count in range(3, 8)]
    query = [_call("query", lock, *[read] * count, unlock) for count in range(1, 13)]
    render = [_call("render", *[row] * count) for count in range(1, 13)]
    reserve = _call("reserve", lock, read, write, unlock)
    failed = _call("reserve", lock, read, unlock, end=Kind.UNWIND) + _call("rollback")
    hit, miss = _call("cache_get"), [_call("cache_get") + one + _call("cache_put") for one in query]

    def buy() -> Code:
        tries = [failed if rng.random() < 0.05 else reserve for _ in range(rng.randint(1, 4))]
        return _call("buy", _call("begin"), *tries, commit)

    def one() -> Code:
        what, rows = rng.random(), int(rng.triangular(0, 12, 3))
        if what < 0.5:
            handled = _call("list", query[rows], render[rows])
        elif what < 0.8:
            handled = _call("show", hit if rng.random() < 0.8 else miss[rows], render[0])
        elif what < 0.98:
            handled = buy()
        else:
            handled = _call("admin", *[query[rows], log] * rng.randint(1, 20))
        return _call("serve", rng.choice(accept), handled, log if rng.random() < 0.1 else ())

    return one


def events_of(count: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Kinds and sites of so many events."""
    one = _rounds(random.Random(seed))
    made = array("H", [Kind.ENTER + 8 * _SITE["main"]])
    while len(made) < count:
        made.extend(one())
    code = np.frombuffer(made, np.uint16)[:count]
    return (code % 8).astype(np.uint8), (code // 8).astype(np.uint32)


def graph_of(count: int, workspace: Path, seed: int = 1) -> ExecutionGraph:
    kind, site = events_of(count, seed)
    ts = np.cumsum(np.random.default_rng(seed).integers(50, 4000, count))
    nothing = np.zeros(0, np.int64)
    extensions = Extensions(
        nothing.astype(np.uint64),
        nothing.astype(np.uint32),
        nothing.astype(np.uint16),
        Texts(np.zeros(1, np.int64), nothing.astype(np.uint8)),
    )
    tables = Tables(
        [""],
        [Site("", "", "", 0, 0, "")]
        + [Site("shop", name, "/shop.py", number, number, "function") for number, name in enumerate(FUNCTIONS)],
        [Strand(0, 0, 1, 0, "thread", "MainThread", "MainThread", 0, count)],
        [Process(0, 1, 1, 0, 0, "shop", (), "", "host", "", "closed", False, 0, 0, int(ts[-1]))],
    )
    _, info = create_run(workspace, name="patterns", command=["shop"], spec="", plan=dump(Plan()), cwd=workspace)
    events = Events(
        ts, kind, site, np.full(count, -1, np.int32), np.arange(count, dtype=np.int32), np.array([0, count]), extensions
    )
    return assemble(info, events, scopes_of(events), Joined(nothing, nothing, nothing.astype(np.uint8)), tables)[0]
