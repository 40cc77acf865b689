"""Offsets between the clocks of hosts are no time: flows have delays beyond the shortest one between two hosts."""

from __future__ import annotations

import json
import random

import pytest

import clew
from clew.compare.requests.diff import compare
from clew.graph.formats.import_run import import_run

MS = 1_000_000
START = 1_700_000_000_000_000_000


@pytest.fixture
def imported(tmp_path):
    """Return a function that imports requests of a client to a server whose clock is `offset_ns` ahead, and that answers
    `slow_ns` later."""

    def make(name, offset_ns, seed, *, slow_ns=0, waits=True, queue_ns=0):
        chance = random.Random(seed)
        lines = []
        for number in range(40):
            begin, took = START + number * 10**9, chance.randint(40, 60) * MS + slow_ns
            late = 5 * MS + chance.randint(0, 2 * MS) + queue_ns
            inner = begin + late + offset_ns, begin + late + took + offset_ns + (0 if waits else 40 * MS)
            spans = (
                ("client", 1, None, "root", begin, begin + 20 * MS + took + queue_ns),
                ("server", 2, 1, "serve", *inner),
            )
            for host, span, parent, label, since, until in spans:
                told = {
                    "traceId": f"{seed * 1000 + number:032x}", "spanId": f"{span:016x}", "name": label, "kind": 1,
                    "startTimeUnixNano": str(since), "endTimeUnixNano": str(until),
                }  # fmt: skip
                told |= {"parentSpanId": f"{parent:016x}"} if parent else {}
                names = {"service.name": host, "host.name": f"{host}1"}
                attributes = [{"key": key, "value": {"stringValue": value}} for key, value in names.items()]
                part = {
                    "resource": {"attributes": attributes},
                    "scopeSpans": [{"scope": {"name": "x"}, "spans": [told]}],
                }
                lines.append(json.dumps({"resourceSpans": [part]}))
        file = tmp_path / f"{name}.jsonl"
        file.write_text("\n".join(lines) + "\n")
        return clew.open(import_run(tmp_path / name, [file]).folder).requests.flows()

    return make


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("offsets_s", [(5000, 7000), (0.02, 0.06), (7000, -3)])
def test_clock_offset_of_another_size_is_no_change(imported, offsets_s, waits):
    before, after = (
        imported(f"run-{side}", round(offset * 1e9), side, waits=waits) for side, offset in enumerate(offsets_s)
    )
    assert compare(before, after).rows == ()
    for flows in (before, after):
        assert flows.delay_ns.max() < 100 * MS and abs(flows.begin_ns).max() < 1000 * MS


def test_clock_offset_hides_no_slower_call_behind_it(imported):
    changed = compare(imported("before", 5000 * 10**9, 1), imported("after", 7000 * 10**9, 2, slow_ns=30 * MS))
    (row,) = changed.rows
    assert not row.is_faster and row.cost_ns == pytest.approx(40 * 30 * MS, rel=0.2)
    assert "server:serve" in {edge.target for edge in row.edges}
    assert all(abs(edge.growth_ns) < 40 * MS for edge in row.edges)
