import time

import pytest

from clew.graph.ops.find import find_function, find_location, find_log_line, find_logs


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


def test_logs_are_found_by_part_of_their_text_and_by_level(graph):
    assert find_logs(graph, "request failed").tolist() == [1, 2]
    assert find_logs(graph, level="WARNING").tolist() == [1, 2, 5]
    assert find_logs(graph, "same", level=25).tolist() == [5]
    assert find_logs(graph).tolist() == [1, 2, 3, 4, 5, 6]


def test_logs_are_found_by_place_and_time(graph):
    assert find_logs(graph, file="store.py", line=12).tolist() == [1, 2]
    assert find_logs(graph, file="tore.py").tolist() == []
    assert find_logs(graph, "failed", wall_ns=graph.info.started + 7_900_000_000).tolist() == [2]


def test_a_line_of_a_log_file_leads_to_its_event(graph):
    assert find_log_line(graph, "ERROR store: Write request failed: chunk 9") == 2
    assert find_log_line(graph, "INFO store: Write request") == 3
    assert find_log_line(graph, "WARNING b same text") == 5
    assert find_log_line(graph, "INFO a same text") == 4
    assert find_log_line(graph, "DEBUG a: two") == 6
    assert find_log_line(graph, "something else") is None


def test_of_equal_lines_the_time_decides(run):
    thread = run.process().thread()
    for number in range(5):
        thread.log("tick", at=number * 1_000_000_000)
    graph = run.graph()
    for number in range(5):
        moment = (graph.info.started + number * 1_000_000_000) / 1e9
        stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment)) + f",{int(moment * 1000) % 1000:03}"
        assert find_log_line(graph, f"{stamp} INFO app tick") == number


def test_a_line_of_source_leads_to_its_log_or_to_the_last_call_around_it(run):
    thread = run.process().thread()
    thread.enter("m:f").log("x", function="m:f", line=12).exit("m:f").enter("m:f").exit("m:f")
    graph = run.graph()
    assert find_location(graph, "/src/m.py", 12) == 1
    assert find_location(graph, "/src/m.py", 13) == 3
    assert find_location(graph, "/src/m.py", 99) is None
    assert find_location(graph, "/src/other.py", 12) is None


def test_a_function_is_found_by_its_label(graph):
    assert find_function(graph, "store:write").tolist() == [0]
    assert find_function(graph, "store:read").tolist() == []
