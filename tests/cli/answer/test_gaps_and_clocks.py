"""The answers of the commands about missing events and about the clocks of two machines."""

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
    """Return the number of the first line with each of the parts."""
    lines = text.splitlines()
    return [next(number for number, line in enumerate(lines) if part in line) for part in parts]


def test_why_names_gaps_and_clocks_between_its_steps(torn):
    answer, _, text = torn("why", "--steps", 1000).stdout.partition("where it ran")
    crossed, step, gone = lines_of(
        answer, f"  {CORRECTED}", "data  /src/server.py:20  client.ask received", f"  {GONE}"
    )
    assert (step, gone) == (crossed + 1, crossed + 2)
    answered, gone, asked = lines_of(text, "server.answer", GONE, "server.answer received message question 1")
    assert answered < gone < asked
    error, crossed = lines_of(text, "ERROR the answer is wrong", CORRECTED)
    assert error < crossed < answered
    # Sentences span the columns without making them wider.
    assert max(len(line) for line in text.splitlines() if " / " in line) < 160


def test_why_json_has_gaps_and_clocks(torn):
    (answer,) = json.loads(torn("why", "--json").stdout)["answers"]
    steps = [(step["machine"], step["clock"], [gap["lost"] for gap in step["gaps"]]) for step in answer["chain"]]
    assert steps[:3] == [("north", "", []), ("south", CORRECTED, [41]), ("north", CORRECTED, [])]


def test_path_names_each_gap_once_and_every_clock_crossing(torn):
    text = torn("path").stdout
    assert text.count(GONE) == 1
    assert text.count(CORRECTED) == 4
    told = json.loads(torn("path", "--json").stdout)
    assert [gap["text"] for gap in told["gaps"]] == [GONE.removeprefix("here ")]
    assert {process["name"]: process["machine"] for process in told["processes"]} == {
        "client": "north",
        "server": "south",
    }


def test_slice_names_gaps_at_their_time(torn):
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


def test_sql_has_tables_of_gaps_and_machines(torn):
    assert torn("sql", "select lost, function from gaps", "--csv").stdout.splitlines() == [
        "lost,function",
        "41,store:look_up",
    ]
    assert torn("sql", "select name from machines", "--csv").stdout.splitlines() == ["name", "north", "south"]


def test_why_and_path_of_complete_run_mention_no_gaps(shop):
    for command in ("why", "path"):
        text = shop(command).stdout
        assert "missing" not in text and "clock" not in text
