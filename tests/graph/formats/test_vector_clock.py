"""Logs with vector clocks: the graph's order equals that of the clocks, with as few edges as possible."""

import json

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.formats.source import FormatError
from clew.records.format.event import Kind
from tests.support.examples import examples

HOST_FIRST, EVENT_FIRST, ONE_LINE, WITH_TIMES = "host first", "event first", "one line", "with times"


def write(events, form=HOST_FIRST):
    """Return a log of events given as (host, clock, text)."""
    lines = []
    for number, (host, clock, text) in enumerate(events):
        head = f"{host} {json.dumps(clock)}"
        if form == HOST_FIRST:
            lines += [head, text]
        elif form == EVENT_FIRST:
            lines += [text, head]
        elif form == WITH_TIMES:
            lines += [f"{1_600_000_000_000_000_000 + number * 50} {text}", head]
        else:
            lines.append(f"{head} {text}")
    return "\n".join(lines) + "\n"


@st.composite
def exchanges(draw):
    """Return the events, in order, of hosts that work and send each other messages."""
    hosts = [f"h{number}" for number in range(draw(st.integers(1, 4)))]
    clocks = {host: {} for host in hosts}
    inbox = {host: [] for host in hosts}
    events = []
    for number in range(draw(st.integers(1, 25))):
        host = draw(st.sampled_from(hosts))
        clock = clocks[host]
        if inbox[host] and draw(st.booleans()):
            for other, count in inbox[host].pop(draw(st.integers(0, len(inbox[host]) - 1))).items():
                clock[other] = max(clock.get(other, 0), count)
        clock[host] = clock.get(host, 0) + 1
        events.append((host, dict(clock), f"e{number}"))
        if len(hosts) > 1 and draw(st.booleans()):
            inbox[draw(st.sampled_from([other for other in hosts if other != host]))].append(dict(clock))
    return events


def before(one, other):
    """Return whether a clock is before another clock."""
    return one != other and all(other.get(host, 0) >= count for host, count in one.items())


@pytest.mark.parametrize("form", [HOST_FIRST, EVENT_FIRST, ONE_LINE, WITH_TIMES])
def test_vector_clock_order_equals_order_of_clocks(import_trace, form):
    @settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
    @given(exchanges())
    def check(events):
        found = import_trace(write(events, form))
        graph = found.graph
        lines = {graph.text(row): row for row in graph.rows_of([Kind.LOG]).tolist()}
        assert sorted(lines) == sorted(text for _, _, text in events)
        order = nx.DiGraph()
        order.add_nodes_from(range(len(graph)))
        order.add_edges_from(
            (row - 1, row) for row in range(1, len(graph)) if graph.strand[row] == graph.strand[row - 1]
        )
        order.add_edges_from(zip(graph.edge_src.tolist(), graph.edge_dst.tolist(), strict=True))
        reached = {row: nx.descendants(order, row) for row in lines.values()}
        clocks = {text: clock for _, clock, text in events}
        for one, clock in clocks.items():
            for other, later in clocks.items():
                assert (lines[other] in reached[lines[one]]) == before(clock, later), (one, other)
        # The fewest possible edges are those of the transitive reduction that lead from host to host.
        whole = nx.DiGraph([(a, b) for a in clocks for b in clocks if before(clocks[a], clocks[b])])
        least = nx.transitive_reduction(whole) if len(whole) else whole
        home = {text: host for host, _, text in events}
        assert len(graph.edge_src) == sum(home[a] != home[b] for a, b in least.edges)
        assert (graph.ts[graph.edge_src] < graph.ts[graph.edge_dst]).all()

    check()


def test_vector_clock_custom_pattern_is_used(import_trace):
    text = "\n".join(
        f"[{second}] <{host}> {level} {text} || {json.dumps(clock)}"
        for second, host, level, text, clock in (
            ("2024-05-01T10:00:00.5", "a", "WARN", "sent it", {"a": 1}),
            ("2024-05-01T10:00:02", "b", "ERROR", "got it", {"a": 1, "b": 1}),
        )
    )
    pattern = r"^\[(?<timestamp>\S+)\] <(?<host>\w+)> (?<level>\w+) (?<event>.*) \|\| (?<clock>\{.*\})$"
    found = import_trace(text, pattern=pattern)
    assert [(text, level) for text, level, _, _ in found.logs()] == [("got it", 40), ("sent it", 30)]
    assert found.graph.info.started == 1714557600_500_000_000
    assert [(source, target) for _, source, target, _, _ in found.edges()] == [
        (1714557600_500_000_000, 1714557602_000_000_000)
    ]


def test_vector_clock_entering_and_exiting_lines_are_calls(import_trace):
    clocks = [("a", {"a": number + 1}) for number in range(4)]
    texts = ["Entering read", "Entering lock", "Exiting lock", "Exiting read"]
    found = import_trace(
        write([(host, clock, text) for (host, clock), text in zip(clocks, texts, strict=True)], WITH_TIMES)
    )
    assert [name for name, *_ in found.spans()] == ["lock", "read"]
    assert found.parents() == {"lock": "read", "read": None}


def test_vector_clock_contradiction_is_left_out_and_reported(import_trace):
    found = import_trace(write([("a", {"a": 1, "b": 1}, "x"), ("b", {"a": 1, "b": 1}, "y")]))
    assert len(found.graph.edge_src) == 1
    assert any("contradicts" in problem for problem in found.problems)


def test_vector_clock_missing_events_are_counted(import_trace):
    found = import_trace(write([("a", {"a": 1}, "x"), ("b", {"a": 3, "b": 1}, "y")]))
    # The last known event of a replaces the missing one.
    assert len(found.graph.edge_src) == 1
    assert any("its event is not in the log" in problem for problem in found.problems)


@pytest.mark.parametrize("pattern, said", [
    ("(?<host>", "not a regular expression"),
    (r"(?<host>\S+) (?<event>.*)", "missing groups: clock"),
    (r"NOTHING (?<host>\S+) (?<clock>\{\}) (?<event>.*)", "no line matches"),
])  # fmt: skip
def test_vector_clock_invalid_pattern_is_refused(import_trace, pattern, said):
    with pytest.raises(FormatError, match=said):
        import_trace(write([("a", {"a": 1}, "x")]), pattern=pattern)


def test_vector_clock_lines_without_event_are_counted(import_trace):
    found = import_trace("# a header\n\n" + write([("a", {"a": 1}, "x"), ("a", {"a": 2}, "y")]))
    assert "1 line: not matched by the pattern; left out" in found.problems
