import time
from datetime import datetime, timedelta, timezone

import pytest

from clew.graph.logs.match_line import find_line
from clew.graph.logs.timestamps import moments
from clew.graph.ops.find_events import find_logs, find_outputs, same_file
from clew.records.format.event import Kind


@pytest.fixture
def graph(run):
    thread = run.process().thread()
    thread.enter("store:write")
    thread.log("Write request failed: chunk 7", level=40, logger="store", function="store:write", line=12, at=1_000_000)
    thread.log(
        "Write request failed: chunk 9", level=40, logger="store", function="store:write", line=12, at=8_000_000_000
    )
    thread.log("Write request", level=20, logger="store", function="store:write", line=11, at=8_100_000_000)
    thread.log("same text", level=20, logger="a", at=8_200_000_000)
    thread.log("same text", level=30, logger="b", at=8_300_000_000)
    thread.log("two\nlines", level=10, logger="a", at=8_400_000_000)
    thread.exit("store:write")
    return run.graph()


def writer_of(graph, line):
    """Return the likeliest event that wrote a line; None when none may have."""
    found = find_line(graph, line).events
    return found[0].event if found else None


def test_find_logs_by_part_of_text_and_level(graph):
    assert find_logs(graph, "request failed").tolist() == [1, 2]
    assert find_logs(graph, level="WARNING").tolist() == [1, 2, 5]
    assert find_logs(graph, "same", level=25).tolist() == [5]
    assert find_logs(graph).tolist() == [1, 2, 3, 4, 5, 6]


def test_find_logs_by_place_and_time(graph):
    assert find_logs(graph, file="store.py", line=12).tolist() == [1, 2]
    assert find_logs(graph, file="tore.py").tolist() == []
    assert find_logs(graph, "failed", wall_ns=graph.info.started + 7_900_000_000).tolist() == [2]


def test_find_log_line_returns_its_event(graph):
    assert writer_of(graph, "ERROR store: Write request failed: chunk 9") == 2
    assert writer_of(graph, "INFO store: Write request") == 3
    assert writer_of(graph, "WARNING b same text") == 5
    assert writer_of(graph, "INFO a same text") == 4
    assert writer_of(graph, "DEBUG a: two") == 6
    assert writer_of(graph, "something else") is None


def test_find_log_line_among_equal_lines_decides_by_time(run):
    thread = run.process().thread()
    for number in range(5):
        thread.log("tick", at=number * 1_000_000_000)
    graph = run.graph()
    for number in range(5):
        moment = (graph.info.started + number * 1_000_000_000) / 1e9
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment)) + f",{int(moment * 1000) % 1000:03}"
        assert writer_of(graph, f"{stamp} INFO app tick") == number


def test_find_log_line_with_id_returns_event_of_the_id(run):
    server = run.process()
    first, second = server.thread(), server.thread("worker")
    for thread in (first, second, first, second):
        thread.log("tick", at=5)
    graph = run.graph()
    lines = [f"tick [clew {server.pid * 7919:016x}.{thread}.{number}]" for thread in (1, 2) for number in (1, 2)]
    found = [writer_of(graph, line) for line in lines]
    assert sorted(found) == [row for row in range(len(graph)) if graph.text(row) == "tick"]
    names = [(graph.strand_of(row).thread, row) for row in found]
    assert names == sorted(names)
    assert [graph.strand_of(row).thread for row in found] == [1, 1, 2, 2]


@pytest.mark.parametrize(
    "line",
    [
        '{{"event": "said \\"no\\" \\u00e9", "level": "error", "clew": "{name}"}}',
        '2026-11-21 app[1]: {{"clew":"{name}","message":"said \\"no\\" é"}}',
        '\x1b[1msaid "no" é \x1b[0m \x1b[36mclew\x1b[0m=\x1b[35m{name}\x1b[0m n=1',
        "event='said \"no\" é' clew='{name}'",
    ],
)
def test_find_log_line_with_id_in_field_returns_event_of_the_id(run, line):
    server = run.process()
    thread = server.thread()
    for _ in range(3):
        thread.log('said "no" é', at=5)
    thread.log("other", at=5)
    graph = run.graph()
    for number in (1, 2, 3):
        found = writer_of(graph, line.format(name=f"{server.pid * 7919:016x}.1.{number}"))
        assert found == [row for row in range(len(graph)) if "said" in graph.text(row)][number - 1]


def test_find_log_line_with_escaped_message_needs_no_id(run):
    server = run.process()
    server.thread().log("plain", at=5)
    server.thread().log('said "no"\té', at=5)
    graph = run.graph()
    found = writer_of(graph, '{"message": "said \\"no\\"\\t\\u00e9"}')
    assert found is not None and graph.text(found).startswith("said")


@pytest.mark.parametrize("name", ["0000000000000001.1.1", "{uid}.1.2", "{uid}.9.1", "{uid}.1.0"])
def test_find_log_line_with_unknown_id_is_found_by_message(run, name):
    server = run.process()
    server.thread().log("tick")
    name = name.format(uid=f"{server.pid * 7919:016x}")
    assert writer_of(run.graph(), f"tick [clew {name}]") == 0
    assert writer_of(run.graph(), f"tock [clew {name}]") is None


def test_moments_time_without_zone_may_be_local_or_utc():
    at = 1_795_266_344  # date -u -d 2026-11-21T13:05:44 +%s
    for text in ("2026-11-21T18:05:44.357+05:00", "2026-11-21 13:05:44,357Z", "2026-11-21T08:05:44.357-0500"):
        (moment,) = moments(f"{text} ERROR failed")
        assert moment.first == at * 10**9 + 357_000_000
        assert moment.last - moment.first == 999_999
    assert at * 10**9 in [moment.first for moment in moments("2026-11-21 13:05:44 x")]
    assert moments("no time") == moments("2026-13-45 99:99:99") == []


def test_find_log_line_among_equal_lines_with_zone_decides_by_time(run):
    thread = run.process().thread()
    for number in range(3):
        thread.log("tick", at=number * 10_000_000)
    graph = run.graph()
    zone = timezone(timedelta(hours=5))
    for number in range(3):
        stamp = datetime.fromtimestamp(graph.wall_ns(number) / 1e9, zone).isoformat(timespec="milliseconds")
        assert writer_of(graph, f"{stamp} INFO tick") == number


@pytest.mark.parametrize(
    ("wanted", "same"),
    [
        ("/home/me/.hidden/x.py", True),
        (".hidden/x.py", True),
        ("./.hidden/x.py", True),
        ("../.hidden/x.py", True),
        ("x.py", True),
        ("hidden/x.py", False),
        (".py", False),
        ("y.py", False),
        ("", False),
        ("../", False),
    ],
)
def test_same_file_compares_whole_trailing_path_parts(wanted, same):
    assert same_file("/home/me/.hidden/x.py", wanted) is same


def test_find_outputs_leaves_out_copies_of_log_lines(run):
    thread = run.process().thread()
    thread.log("disk full", level=40)
    thread.put(Kind.OUTPUT, key=2, text="12:00 ERROR disk full")
    thread.enter("app:f").put(Kind.OUTPUT, key=1, text="disk full again").exit("app:f")
    graph = run.graph()
    assert [graph.text(row) for row in find_outputs(graph, "disk").tolist()] == ["disk full again"]
