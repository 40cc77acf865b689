"""The clocks of hosts in foreign traces are aligned if they disagree, and only then."""

import pytest

FRONT, BACK = "front", "back"


def jaeger(spans):
    """Return a Jaeger document of spans given as (id, parent, host, start, duration) in microseconds."""
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


def times(imported):
    """Return the begin and end of each span, in microseconds since the trace's epoch."""
    return {
        name: (start // 1000 - 1_700_000_000_000_000, end // 1000 - 1_700_000_000_000_000)
        for name, start, end in imported.spans()
    }


@pytest.mark.parametrize("off", [-500_000, 300_000])
def test_clock_skew_of_host_is_corrected_into_callers_spans(import_trace, off):
    calls = [
        (1, 0, FRONT, 0, 1000),
        (2, 1, BACK, 200 + off, 600),
        (3, 0, FRONT, 5000, 1000),
        (4, 3, BACK, 5400 + off, 500),
    ]
    imported = import_trace(jaeger(calls))
    graph = imported.graph
    found = times(imported)
    if off > 0:
        # A span that begins after its call is plausible, so the clock is not corrected.
        assert found["op2"] == (200 + off, 800 + off)
        return
    # Between 0 and 1000 - 600 after op1 began, and between 0 and 500 after op3: the middle of what both allow.
    moved = found["op2"][0] - (200 + off)
    assert -off - 200 <= moved <= -off + 100
    assert found["op1"] == (0, 1000) and found["op2"][1] - found["op2"][0] == 600
    assert found["op4"][0] - found["op2"][0] == 5200
    logs = {text: time // 1000 - 1_700_000_000_000_000 for text, _, time, _ in imported.logs()}
    assert logs["in 2"] == found["op2"][0] + 300
    assert not (graph.ts[graph.edge_src] > graph.ts[graph.edge_dst]).any()
    (back,) = (machine for machine in graph.machines if machine.name == BACK)
    assert back.offset_ns == moved * 1000 and back.messages == 4
    assert back.below_ns + back.above_ns == pytest.approx(300_000, abs=10)
    assert any("corrected from messages between them, by up to 500 ms" in problem for problem in imported.problems)


def test_clock_skew_of_callers_that_do_not_wait_uses_beginnings_only(import_trace):
    # The second call ends after its caller with any clocks: no correction puts both ends inside.
    calls = [(1, 0, FRONT, 0, 1000), (2, 1, BACK, -300, 100), (3, 0, FRONT, 5000, 1000), (4, 3, BACK, 6500, 500)]
    found = times(import_trace(jaeger(calls)))
    assert found["op2"][0] >= found["op1"][0]
    assert found["op4"][0] - found["op2"][0] == 6800


def test_clock_skew_of_agreeing_clocks_is_not_corrected(import_trace):
    calls = [(1, 0, FRONT, 0, 1000), (2, 1, BACK, 0, 1000), (3, 2, FRONT, 10, 20)]
    imported = import_trace(jaeger(calls))
    assert times(imported) == {"op1": (0, 1000), "op2": (0, 1000), "op3": (10, 30)}
    assert not any("clock" in problem for problem in imported.problems)


@pytest.mark.parametrize("ahead", [2_000, 300_000])
def test_clock_skew_of_host_that_is_ahead_is_corrected(import_trace, ahead):
    calls = []
    for number, took in enumerate((600, 200, 800, 400)):
        begin = 5000 * number
        calls += [
            (2 * number + 1, 0, FRONT, begin, took + 200),
            (2 * number + 2, 2 * number + 1, BACK, begin + 100 + ahead, took),
        ]
    imported = import_trace(jaeger(calls))
    found = times(imported)
    assert all(
        found[f"op{n}"][0] <= found[f"op{n + 1}"][0] and found[f"op{n + 1}"][1] <= found[f"op{n}"][1]
        for n in (1, 3, 5, 7)
    )
    assert any("corrected from messages between them" in problem for problem in imported.problems)


def test_clock_skew_of_work_that_goes_on_after_its_caller_is_not_corrected(import_trace):
    calls = []
    for number, took in enumerate((600, 200, 800, 400)):
        begin = 5000 * number
        calls += [(2 * number + 1, 0, FRONT, begin, 900), (2 * number + 2, 2 * number + 1, BACK, begin + 800, took)]
    imported = import_trace(jaeger(calls))
    assert times(imported)["op2"] == (800, 1400) and not any("clock" in problem for problem in imported.problems)
