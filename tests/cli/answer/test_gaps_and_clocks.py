"""What the commands say of missing events, and of times that two machines' clocks show."""

import json

import pytest

from tests.support.runs.damaged_runs import WHY, write_torn_run

CORRECTED = "clock of south corrected by −5 ms, certain to ±200 µs"
GONE = f"here 41 calls of store.look_up in MainThread are missing between +0.033200 s and +0.037200 s: {WHY}"


@pytest.fixture
def torn(shell):
    write_torn_run(shell.folder)
    return shell


def lines_of(text, *parts):
    """The numbers of the lines that have these words, one each."""
    lines = text.splitlines()
    return [next(number for number, line in enumerate(lines) if part in line) for part in parts]


def test_why_says_what_is_missing_where_it_passes_it(torn):
    text = torn("why").stdout
    answered, gone, asked = lines_of(text, "server.answer", GONE, "server.answer received message question 1")
    assert answered < gone < asked
    error, crossed = lines_of(text, "ERROR the answer is wrong", CORRECTED)
    assert error < crossed < answered
    # Sentences stand across the columns, which are as wide as without them.
    assert max(len(line) for line in text.splitlines() if " / " in line) < 160


def test_why_has_it_as_data(torn):
    (answer,) = json.loads(torn("why", "--json").stdout)["answers"]
    steps = [(step["machine"], step["clock"], [gap["lost"] for gap in step["gaps"]]) for step in answer["chain"]]
    assert steps[:3] == [("north", "", []), ("south", CORRECTED, [41]), ("north", CORRECTED, [])]


def test_a_path_says_once_what_is_missing_and_where_it_crosses(torn):
    text = torn("path").stdout
    assert text.count(GONE) == 1
    assert text.count(CORRECTED) == 4
    told = json.loads(torn("path", "--json").stdout)
    assert [gap["text"] for gap in told["gaps"]] == [GONE.removeprefix("here ")]
    assert {process["name"]: process["machine"] for process in told["processes"]} == {
        "client": "north",
        "server": "south",
    }


def test_a_slice_says_at_its_time_what_is_missing(torn):
    done = torn("slice", "wrong")
    before, gone, after = lines_of(done.stdout, "server:answer  ran too often", "missing", "recorded again")
    assert before < gone < after
    assert GONE in done.stdout.splitlines()[gone]
    assert "clock of south: −5 ms" in done.stderr
    narrow = torn("slice", "wrong", "--only", "kind=log", "--select", "ts,level").stdout
    assert lines_of(narrow, GONE) < lines_of(narrow, "ERROR")
    told = json.loads(torn("slice", "wrong", "--json").stdout)
    assert [(gap["lost"], gap["function"]) for gap in told["gaps"]] == [(41, "store:look_up")]
    assert [machine["name"] for machine in told["machines"]] == ["north", "south"]


def test_runs_lists_gaps_with_their_reasons(torn):
    text = torn("runs", "torn").stdout
    assert f"+0.033200 s  +0.037200 s    41  server   MainThread      calls of store.look_up: {WHY}" in text
    told = json.loads(torn("runs", "torn", "--json").stdout)
    assert [gap["why"] for gap in told["gaps"]] == [WHY]
    assert told["machines"][1]["clock"].startswith("−5 ms")


def test_sql_knows_gaps_and_machines(torn):
    assert torn("sql", "select lost, function from gaps", "--csv").stdout.splitlines() == [
        "lost,function",
        "41,store:look_up",
    ]
    assert torn("sql", "select name from machines", "--csv").stdout.splitlines() == ["name", "north", "south"]


def test_a_run_that_is_whole_says_nothing_of_gaps(shop):
    for command in ("why", "path"):
        text = shop(command).stdout
        assert "missing" not in text and "clock" not in text
