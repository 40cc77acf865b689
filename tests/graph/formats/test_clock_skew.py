"""Hosts of foreign traces whose clocks disagree are put onto one, and only those."""

import pytest

FRONT, BACK = "front", "back"


def jaeger(spans):
    """Spans as (id, parent, host, start, duration) in microseconds."""
    document = {"data": [{
        "traceID": "a1",
        "processes": {host: {"serviceName": host, "tags": [{"key": "hostname", "type": "string", "value": host}]}
                      for host in (FRONT, BACK)},
        "spans": [
            {"traceID": "a1", "spanID": str(number), "operationName": f"op{number}", "processID": host,
             "startTime": 1_700_000_000_000_000 + start, "duration": duration,
             "logs": [{"timestamp": 1_700_000_000_000_000 + start + duration // 2,
                       "fields": [{"key": "message", "value": f"in {number}"}]}],
             "references": [{"refType": "CHILD_OF", "traceID": "a1", "spanID": str(parent)}] if parent else []}
            for number, parent, host, start, duration in spans
        ],
    }]}  # fmt: skip
    return document


def times(looked):
    """Microseconds since the trace's epoch."""
    return {
        name: (start // 1000 - 1_700_000_000_000_000, end // 1000 - 1_700_000_000_000_000)
        for name, start, end in looked.spans()
    }


@pytest.mark.parametrize("off", [-500_000, 300_000])
def test_a_host_that_is_off_is_moved_into_its_callers_spans(look, off):
    calls = [
        (1, 0, FRONT, 0, 1000),
        (2, 1, BACK, 200 + off, 600),
        (3, 0, FRONT, 5000, 1000),
        (4, 3, BACK, 5400 + off, 500),
    ]
    looked = look(jaeger(calls))
    graph = looked.graph
    found = times(looked)
    if off > 0:
        # What begins later than it was called is in order, for all that can be known.
        assert found["op2"] == (200 + off, 800 + off)
        return
    # Between 0 and 1000 - 600 after op1 began, and between 0 and 500 after op3: the middle of what both allow.
    moved = found["op2"][0] - (200 + off)
    assert -off - 200 <= moved <= -off + 100
    assert found["op1"] == (0, 1000) and found["op2"][1] - found["op2"][0] == 600
    assert found["op4"][0] - found["op2"][0] == 5200
    logs = {text: time // 1000 - 1_700_000_000_000_000 for text, _, time, _ in looked.logs()}
    assert logs["in 2"] == found["op2"][0] + 300
    assert not (graph.ts[graph.edge_src] > graph.ts[graph.edge_dst]).any()
    (back,) = (machine for machine in graph.machines if machine.name == BACK)
    assert back.offset_ns == moved * 1000 and back.messages == 4
    assert back.below_ns + back.above_ns == pytest.approx(300_000, abs=10)
    assert any("put right by the messages between them, by up to 500 ms" in problem for problem in looked.problems)


def test_callers_that_do_not_wait_are_aligned_by_beginnings_alone(look):
    # The second call ends after its caller whatever the clocks: no correction puts both ends inside.
    calls = [(1, 0, FRONT, 0, 1000), (2, 1, BACK, -300, 100), (3, 0, FRONT, 5000, 1000), (4, 3, BACK, 6500, 500)]
    found = times(look(jaeger(calls)))
    assert found["op2"][0] >= found["op1"][0]
    assert found["op4"][0] - found["op2"][0] == 6800


def test_clocks_that_agree_are_left_alone(look):
    calls = [(1, 0, FRONT, 0, 1000), (2, 1, BACK, 0, 1000), (3, 2, FRONT, 10, 20)]
    looked = look(jaeger(calls))
    assert times(looked) == {"op1": (0, 1000), "op2": (0, 1000), "op3": (10, 30)}
    assert not any("clock" in problem for problem in looked.problems)
