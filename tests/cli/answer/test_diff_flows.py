"""`clew diff` by flows: the sides, the output, `--fail-on`, and refused arguments."""

from __future__ import annotations

import json
import re

import pytest

import clew
from clew.cli.main import call
from tests.support.runs.compared_runs import record_all


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("diffs")
    record_all(folder)
    return folder


@pytest.fixture
def diff(workspace, capsys):
    """Return a function that runs `clew diff` and returns the exit code, stdout and stderr."""

    def run(*arguments):
        code = call(["diff", *arguments, "--workspace", str(workspace)])
        return code, *capsys.readouterr()

    return run


def test_diff_of_two_runs_is_by_functions_unless_flows_are_requested(diff):
    assert diff("before", "slow")[1].startswith("app:show_store got 1.")
    assert diff("before", "slow", "--by", "flows")[1].startswith("1 slower of 90 requests before and 90 after")
    assert diff("before", "slow", "--request", "show")[1].startswith("1 slower of 30 requests")


@pytest.mark.parametrize(
    "arguments",
    [
        ["before", "before-2", "--", "slow", "slow-2"],
        ["--before", "before", "--before", "before-2", "--after", "slow", "--after", "slow-2"],
        ["--before", "before", "before-2", "--", "slow", "slow-2"],
    ],
)
def test_diff_with_several_runs_a_side_assigns_each_side(diff, arguments):
    code, out, _ = diff(*arguments)
    assert code == 0 and out.startswith("1 slower of 180 requests before and 180 after in 3 categories; first, show: ")


def test_diff_slower_request_has_its_row_call_and_flow(diff):
    lines = diff("before", "slow", "--by", "flows")[1].splitlines()
    assert lines[2].split()[:2] == ["cost", "flow"]
    assert re.match(r"\+\S+ ms  slower +30 +30 +\S+ µs +\S+ µs +\+\S+ µs … \+\S+ µs +\S+  show", lines[3].strip())
    text = "\n".join(lines)
    assert re.search(
        r"show, slower:\n  app:show_store \(by queue\) itself \S+ µs -> \S+ µs, p = \S+ \(/src/app.py:\d+\)", text
    )
    assert re.search(r"\n    !   app:show_store \(by queue\)  \S+ µs -> \S+ µs", text) and "      … 1 call\n" in text
    assert "Kolmogorov-Smirnov" in lines[-1]


def test_diff_new_flow_names_its_precursor(diff):
    text = diff("before", "more", "--by", "flows")[1]
    assert (
        "buy, new:\n  it may come from a flow with 30 before and 0 after (67% alike, with app:serve > app:audit)"
        in text
    )
    assert re.search(r"\n    \+   app:audit  \S+ µs\n", text)


def test_diff_fail_on_exits_with_3_and_the_reason(diff):
    code, _, err = diff("before", "slow", "--fail-on", "slower:5%,structure")
    assert (code, err) == (3, "clew: failed: show is slower by 5% or more\n")
    assert diff("before", "slow", "--fail-on", "slower:50%,structure")[0] == 0
    code, _, err = diff("before", "more", "--fail-on", "structure")
    assert (code, err) == (3, "clew: failed: buy is answered by another flow\n")
    assert diff("before", "more", "--fail-on", "slower")[0] == 0
    code, _, err = diff("before", "slow", "--by", "functions", "--fail-on", "slower:10%")
    assert (code, err) == (3, "clew: failed: app:show_store is slower by 10% or more\n")
    assert diff("before", "slow", "--by", "functions", "--fail-on", "slower:90%")[0] == 0
    # `--fail-on` applies its own threshold, whatever the other thresholds are.
    assert diff("before", "slow", "--slower", "90%", "--fail-on", "slower:5%")[0] == 3


def test_diff_markdown_has_a_table_and_the_flow_as_a_diff(diff):
    text = diff("before", "more", "--markdown")[1]
    assert text.startswith("### clew: 1 new or more frequent of 90 requests")
    (row,) = (line for line in text.splitlines() if line.startswith("| new | buy |"))
    assert row.count(" | ") == 7 and "30" in row
    assert (
        "```diff\n" in text and "\n+   app:audit" in text and text.count("<details>") == text.count("</details>") == 2
    )
    functions = diff("before", "slow", "--by", "functions", "--markdown")[1]
    assert "| ---: | ---: |" in functions and "app:show\\_store got" not in functions.splitlines()[4]


def test_diff_json_has_rows_graph_and_thresholds(diff):
    answer = json.loads(diff("before", "more", "--by", "flows", "--json")[1])
    assert answer["rows"][0]["kind"] == "structural" and answer["graph"]["nodes"][0]["name"] == "app:serve"
    assert answer["thresholds"]["alpha"] == 0.05


def test_diff_with_one_request_a_side_compares_them(diff, workspace):
    first, last = (
        clew.open(name, workspace=workspace).requests.named("buy").flows().request[0] for name in ("before", "more")
    )
    code, out, _ = diff(f"before@{first}", f"more@{last}")
    assert code == 0 and out.startswith("one request compared with one request: ")
    assert "+   app:audit" in out and "Kolmogorov" not in out


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["before"], "only one run given, 'before'"),
        (["before", "slow", "more"], "3 runs given without `--`; write BEFORE… -- AFTER…"),
        (["before", "--"], "no run after given"),
        (["--", "before"], "no run before given"),
        (["before", "--", "slow", "--", "more"], "`--` given more than once"),
        ([], "no run before given"),
        (["--after", "slow"], "no run before given"),
        (["before", "slow", "--by", "functions", "--request", "buy"], "--request applies to flows"),
        (
            ["before@slowest", "slow", "--by", "functions"],
            "functions are compared between whole runs, not single requests",
        ),
        (["before", "slow", "--by", "functions", "--fail-on", "structure"], "structure is compared by flows"),
        (["before", "slow", "--fail-on", "speed"], "unknown --fail-on condition 'speed'"),
        (["before", "slow", "--alpha", "7"], "7 is not between 0 and 1; write 7% for percent"),
        (["before", "slow", "--alpha", "few"], "'few' is not a share; write 5% or 0.05"),
        (["before", "nope", "--by", "flows"], "no run named 'nope'"),
        (["before", "slow", "--request", "sell"], "no run has a request named 'sell'; there are buy, list, show"),
        (["before@0", "slow"], "event 0 of run before is not a request"),
        (["empty", "empty", "--by", "flows"], "`--by functions` works without requests"),
        (["a..b", "--request", "x"], "--request applies to runs"),
    ],
)
def test_diff_of_incomparable_runs_prints_one_message(diff, arguments, text):
    code, out, err = diff(*arguments)
    assert code == 2 and out == "" and text in err and "Traceback" not in err


def test_diff_options_may_follow_the_second_side(diff):
    assert diff("before", "--", "slow", "--request", "show")[1].startswith("1 slower of 30 requests")


def test_diff_help_has_every_threshold_with_its_default(diff):
    import dataclasses

    from clew.compare.requests.diff import Thresholds

    text = " ".join(diff("--help")[1].split())
    for field in dataclasses.fields(Thresholds):
        default = field.default
        shown = f"{default:.0%}" if field.name in ("alpha", "slower", "share", "precursor") else f"{default:g}"
        assert re.search(rf"--{field.name} [^-]*?\[default: {shown}\]", text), field.name
