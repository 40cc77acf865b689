"""Log lines in formats of all kinds are matched to the event that wrote them, or to no event."""

import json
import time
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clew.graph.logs.match_line import AT_MOST, find_line
from clew.graph.logs.message_index import _messages
from clew.graph.model.event import LEVEL_NAMES
from clew.graph.store.store import open_graph
from tests.support.examples import examples

MESSAGES = (
    "Write request failed: chunk {0}",
    "Write request failed: chunk {0}, {1} left",
    "{0} of {1} items sold",
    "queue of worker {0} is empty",
    "user anna{0} logged in from 10.0.{1}.7",
    "fin de l’opération n° {0}",
    "数据块 {0} 已写入",
    "started",
    'said "no" to {0}\tat once',
    "{0}",
)
FORMATS = {
    "logging": lambda at, e: f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03} {e.level} {e.channel}: {e.text}",
    "with a place": lambda at, e: f"[{at:%Y-%m-%dT%H:%M:%S.%f}Z] {e.level:8} {e.file}:{e.line} - {e.text}",
    "syslog": lambda at, e: f"{at:%b %e %H:%M:%S}.{at.microsecond // 1000:03} box app[42]: {e.text}",
    "json": lambda at, e: json.dumps({"time": at.isoformat() + "Z", "level": e.level.lower(), "message": e.text}),
    "logfmt": lambda at, e: f"ts={at:%Y-%m-%dT%H:%M:%S.%f}Z level={e.level.lower()} msg={json.dumps(e.text)} x=1",
    "a time alone": lambda at, e: f"{at:%H:%M:%S},{at.microsecond // 1000:03} | {e.level} | {e.channel} | {e.text}",
    "coloured": lambda at, e: f"\x1b[2m{at:%Y-%m-%d %H:%M:%S.%f}\x1b[0m [\x1b[31m{e.level.lower()}\x1b[0m] {e.text}",
    "without a time": lambda at, e: f"{e.level}:{e.channel}:{e.text}",
}


@pytest.fixture(scope="module", autouse=True)
def utc():
    patch = pytest.MonkeyPatch()
    patch.setenv("TZ", "UTC")
    time.tzset()
    yield
    patch.undo()
    time.tzset()


logged = st.lists(
    st.tuples(
        st.sampled_from(MESSAGES), st.integers(0, 40), st.integers(0, 3), st.sampled_from(sorted(LEVEL_NAMES)),
        st.sampled_from(["store", "app.web"]), st.integers(1, 3_000_000_000),
    ),
    min_size=1,
    max_size=25,
)  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logged=logged)
def test_find_line_of_any_format_returns_its_event(new_run, form, logged):
    run = new_run()
    thread = run.process().thread()
    at = 0
    for message, a, b, level, logger, after in logged:
        at += after
        function = f"app:f{level}"
        thread.log(message.format(a, b), level=level, logger=logger, function=function, line=level, at=at)
    graph = run.graph()
    for row in range(len(graph)):
        event = graph.event(row)
        if form == "syslog" and event.text.isdecimal():
            continue  # a number at the right time may belong to any event
        when = datetime.fromtimestamp(event.wall_ns // 1000 / 1e6, UTC).replace(tzinfo=None)
        line = FORMATS[form](when, event)
        found = [graph.event(one.event) for one in find_line(graph, line).events]
        assert found, line
        told = {(one.text, one.level if form != "syslog" else "") for one in found}
        assert told == {(event.text, event.level if form != "syslog" else "")}, line
        if form != "without a time":
            assert row in [one.id for one in found] or len(found) == AT_MOST
            assert abs(found[0].wall_ns - event.wall_ns) < 2_000_000


FOREIGN = (
    "2026-11-21 13:05:44,357 INFO app: nothing of ours",
    "2001-01-01 00:00:00,000 ERROR store: Write request failed: chunk 7",
    "INFO store: Write request failed: chunk 7",  # another level
    "ERROR /src/other.py:12 Write request failed: chunk 7",  # another place
    "The daemon started",
    "ERROR nginx: Write request failed: chunk 7",  # an unknown logger
    "ERROR store: Write request failed: chunk 77",
    "ERROR store: Write request failed: chunk",
    "ERROR store: Write request failed: chunk 7 of 9",
    "7",
    "17:7",
    "",
    "\x00\x01\x02 binary \ufffd junk 7",
    "{",
    '{"message": "Write request failed: chunk 8"}',
    "[clew 0123456789abcdef.1.1]",
)


@pytest.mark.parametrize("line", FOREIGN)
def test_find_line_of_foreign_line_is_empty(run, line):
    thread = run.process().thread()
    thread.log("Write request failed: chunk 7", level=40, logger="store", function="app:f", line=12)
    thread.log("started", logger="app")
    thread.log("7", logger="app")
    thread.log("", logger="app")
    assert find_line(run.graph(), line).events == ()


def test_find_line_with_id_after_last_line_or_alone_returns_event(run):
    thread = run.process().thread()
    for message in ("cannot sell\n two apples", "warned\n", "cannot sell\n two pears"):
        thread.log(message)
    graph = run.graph()
    (process,) = graph.processes
    (strand,) = {strand.thread for strand in graph.strands}
    first, second, third = (f"{process.uid:016x}.{strand}.{number}" for number in (1, 2, 3))
    rows = {}
    for line in (
        f" two apples [clew {first}]",
        f" [clew {second}]",
        third,
        f"clew {third}",
        f" two apples [clew {third}]",
    ):
        rows[line] = [graph.text(one.event) for one in find_line(graph, line).events]
    assert list(rows.values()) == [
        ["cannot sell\n two apples"], ["warned\n"], ["cannot sell\n two pears"], ["cannot sell\n two pears"], []
    ]  # fmt: skip


def test_find_line_of_any_text_returns_only_matching_events(run):
    thread = run.process().thread()
    for message in ("started", "7", "Write request failed: chunk 7"):
        thread.log(message)
    graph = run.graph()

    @given(st.text(max_size=120))
    def answered(text):
        for one in find_line(graph, text).events:
            assert graph.text(one.event) in text

    answered()


def test_find_line_among_equal_lines_lists_nearest_first(run):
    thread = run.process().thread()
    for number in range(12):
        thread.log("tick", at=number * 100_000_000)
    graph = run.graph()
    at = datetime.fromtimestamp((graph.wall_ns(3) + 20_000_000) / 1e9, UTC)
    found = find_line(graph, f"{at:%Y-%m-%d %H:%M:%S.%f} INFO tick")
    assert found.count == 12
    assert len(found.events) == AT_MOST
    assert [one.event for one in found.events[:3]] == [3, 4, 2]
    assert found.events[0].reasons[:2] == ("20 ms from its time", "the same message")
    assert not found.certain
    newest = find_line(graph, "INFO tick")
    assert (newest.events[0].event, newest.count) == (11, 12)


def test_find_line_in_stored_graph_returns_the_same_events(run, monkeypatch):
    """Also with a cached message index, and with a damaged one."""
    monkeypatch.setattr("clew.graph.logs.message_index.WORTH_KEEPING", 1)
    thread = run.process().thread()
    for number in range(50):
        thread.log(f"chunk {number} of {number % 7} went to anna{number % 3}", at=number * 10_000_000)
    folder = run.write()
    lines = [f"INFO app: chunk {number} of {number % 7} went to anna{number % 3}" for number in range(50)]
    graph, _ = open_graph(folder)
    first = [find_line(graph, line) for line in lines]
    assert [found.events[0].event for found in first] == list(range(50))
    kept = folder / "store" / "messages.bin"
    made = []
    monkeypatch.setattr(
        "clew.graph.logs.message_index._messages", lambda graph, real=_messages: made.append(1) or real(graph)
    )
    for damage in (
        lambda data: data,
        lambda data: data[:-3],
        lambda data: data[:200] + b"x" + data[201:],
        lambda _: b"",
    ):
        graph, _ = open_graph(folder)  # built first from the trace files, then from the store
        kept.write_bytes(damage(kept.read_bytes())) if kept.exists() else None
        assert [find_line(graph, line) for line in lines] == first
    assert len(made) in (3, 4)
