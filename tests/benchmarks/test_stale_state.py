"""The programs of `benchmarks/stale_state.py` show their errors, and the benchmark judges answers as its table says."""

import subprocess
import sys
from collections import Counter

import pytest
from stale_programs.case import Case
from stale_programs.judging.cases import CASES as JUDGING
from stale_programs.tuning.cases import CASES as TUNING
from stale_state import Outcome, first_statements, judge, rows_of

ALL = (*TUNING, *JUDGING)
SHOP = TUNING[0]
VERDICT = "percent_off was 110 because Basket.redeem(110) set it (shop.py:24), called by greet_customer in campaigns."


def identify(case: Case) -> str:
    return case.name


def step(event: int, title: str, group: str, line: int) -> dict:
    place = {"path": "/work/shop.py", "line": line, "endLine": 0} if line else None
    return {"event": event, "title": title, "group": group, "location": place}


def test_the_programs_are_across_threads_tasks_and_processes_and_half_are_for_judging():
    assert Counter(case.across for case in ALL) == {"threads": 8, "tasks": 6, "SQLite": 3, "redis": 3}
    assert (len(TUNING), len(JUDGING)) == (10, 10)
    assert len({case.name for case in ALL}) == len({case.kind for case in ALL}) == 20


@pytest.mark.parametrize("case", ALL, ids=identify)
def test_the_line_that_writes_is_in_the_function_of_the_case(case):
    assert case.place.startswith(f"{case.name}.py:")


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in ALL if case.across != "redis"], ids=identify)
def test_a_program_shows_its_error(case, tmp_path):
    done = subprocess.run([sys.executable, case.program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert case.question in done.stderr


@pytest.mark.parametrize(
    "statement",
    [
        VERDICT,
        "in campaigns: Basket.redeem set percent_off",
        f"in campaigns: Basket.redeem({SHOP.place})",
        "redeem set self.percent_off for greet_customer",
    ],
)
def test_a_statement_names_the_writer_with_its_function_its_caller_or_strand_and_the_state(statement):
    assert SHOP.names_writer(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "in MainThread: Basket.redeem set percent_off (shop.py:24)",  # the harmless call
        "in campaigns: Basket.redeem ran",
        f"in campaigns: Basket.redeem ran ({SHOP.place}1)",
        "in campaigns: percent_off was set (shop.py:24)",
        "in campaigns: Basket.redeemed set percent_off",
    ],
)
def test_a_statement_without_one_of_the_three_does_not_name_the_writer(statement):
    assert not SHOP.names_writer(statement)


def test_the_three_must_be_in_one_statement():
    assert not SHOP.named_in(["Basket.redeem set percent_off", "in campaigns: greet_customer ran"])


def test_the_verdict_and_three_steps_count_without_the_event_itself():
    answer = {
        "event": 9,
        "sentences": [{"text": "One."}, {"text": "Two."}],
        "steps": [step(9, "ERROR", "in MainThread", 47), *(step(n, f"step {n}", "in campaigns", n) for n in range(4))],
    }
    assert first_statements(answer) == [
        "One. Two.",
        "in campaigns: step 0",
        "in campaigns: step 1 (shop.py:1)",
        "in campaigns: step 2 (shop.py:2)",
    ]


def test_rows_count_tried_programs_of_each_set_and_variant():
    outcomes = [
        Outcome(TUNING[0], "", named=True, function=True, called=True),
        Outcome(TUNING[1], "", function=True),
        Outcome(TUNING[2], "", why_not="no redis"),
        Outcome(JUDGING[0], "--writes", named=True),
    ]
    rows = rows_of(outcomes)
    assert [(row["name"], row["unit"], row["ours"], row["peer_value"], row["met"]) for row in rows] == [
        ("tuning, as it is: writer named", "of 2 tried, 3 in all", 1, 1, False),
        ("judging, with --writes: writer named", "of 1 tried, 1 in all", 1, 0, True),
    ]


def test_a_program_is_recorded_and_both_answers_are_judged(tmp_path):
    outcome = judge(TUNING[1], "", tmp_path / "limiter")
    assert not outcome.why_not
    assert outcome.called  # Window.take is called by the function that logs, too
    assert outcome.answer


def test_an_option_that_clew_run_does_not_have_is_not_tried(tmp_path):
    outcome = judge(SHOP, "--no-such-option", tmp_path / "shop")
    assert "no-such-option" in outcome.why_not.lower()
    assert not outcome.named
