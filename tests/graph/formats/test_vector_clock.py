"""Logs with vector clocks: happens-before is just what the clocks say, with no edge too many."""

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
    """Events as (host, clock, text)."""
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
    """Hosts that work and send each other messages; in the order in which it happens."""
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
    """Does a clock come before another one?"""
    return one != other and all(other.get(host, 0) >= count for host, count in one.items())


@pytest.mark.parametrize("form", [HOST_FIRST, EVENT_FIRST, ONE_LINE, WITH_TIMES])
def test_order_is_what_the_clocks_say(look, form):
    @settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
    @given(exchanges())
    def check(events):
        found = look(write(events, form))
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
        # The fewest edges: those of the transitive reduction that lead from host to host.
        whole = nx.DiGraph([(a, b) for a in clocks for b in clocks if before(clocks[a], clocks[b])])
        least = nx.transitive_reduction(whole) if len(whole) else whole
        home = {text: host for host, _, text in events}
        assert len(graph.edge_src) == sum(home[a] != home[b] for a, b in least.edges)
        assert (graph.ts[graph.edge_src] < graph.ts[graph.edge_dst]).all()

    check()


def test_a_pattern_of_ones_own(look):
    text = "\n".join(
        f"[{second}] <{host}> {level} {text} || {json.dumps(clock)}"
        for second, host, level, text, clock in (
            ("2024-05-01T10:00:00.5", "a", "WARN", "sent it", {"a": 1}),
            ("2024-05-01T10:00:02", "b", "ERROR", "got it", {"a": 1, "b": 1}),
        )
    )
    pattern = r"^\[(?<timestamp>\S+)\] <(?<host>\w+)> (?<level>\w+) (?<event>.*) \|\| (?<clock>\{.*\})$"
    found = look(text, pattern=pattern)
    assert [(text, level) for text, level, _, _ in found.logs()] == [("got it", 40), ("sent it", 30)]
    assert found.graph.info.started == 1714557600_500_000_000
    assert [(source, target) for _, source, target, _, _ in found.edges()] == [
        (1714557600_500_000_000, 1714557602_000_000_000)
    ]


def test_enters_and_exits_are_calls(look):
    clocks = [("a", {"a": number + 1}) for number in range(4)]
    texts = ["Entering read", "Entering lock", "Exiting lock", "Exiting read"]
    found = look(write([(host, clock, text) for (host, clock), text in zip(clocks, texts, strict=True)], WITH_TIMES))
    assert [name for name, *_ in found.spans()] == ["lock", "read"]
    assert found.parents() == {"lock": "read", "read": None}


def test_vector_clocks_that_contradict_each_other_are_left_out_and_reported(look):
    found = look(write([("a", {"a": 1, "b": 1}, "x"), ("b", {"a": 1, "b": 1}, "y")]))
    assert len(found.graph.edge_src) == 1
    assert any("contradicts" in problem for problem in found.problems)


def test_events_that_the_log_does_not_have_are_counted(look):
    found = look(write([("a", {"a": 1}, "x"), ("b", {"a": 3, "b": 1}, "y")]))
    # The last event of a's that is there stands for the one that is not.
    assert len(found.graph.edge_src) == 1
    assert any("of an event that the log does not have" in problem for problem in found.problems)


@pytest.mark.parametrize("pattern, said", [
    ("(?<host>", "not a regular expression"),
    (r"(?<host>\S+) (?<event>.*)", "no group clock"),
    (r"NOTHING (?<host>\S+) (?<clock>\{\}) (?<event>.*)", "nothing in it matches"),
])  # fmt: skip
def test_a_wrong_pattern_is_told(look, pattern, said):
    with pytest.raises(FormatError, match=said):
        look(write([("a", {"a": 1}, "x")]), pattern=pattern)


def test_lines_of_no_event_are_counted(look):
    found = look("# a header\n\n" + write([("a", {"a": 1}, "x"), ("a", {"a": 2}, "y")]))
    assert "1 line: of no event, by the pattern; left out" in found.problems
