"""Guides: their questions, their findings, and that the query they save finds the same."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest

from clew.records.errors import ClewError
from clew.server.protocol.views.guide import WizardParams
from clew.server.session.session import Session, Task
from clew.server.views.guide import ANALYSES, wizard


def ask(session, analysis, answers=(), step=0):
    return wizard(session, WizardParams(analysis, list(answers), step), Task())


def first_answers(session, analysis):
    """Return the first choice of every question."""
    answers = []
    for number in itertools.count():
        found = ask(session, analysis, answers)
        if found.question is None:
            return answers
        assert number < 3, "at most three questions"
        assert len(found.asked) == number
        answers.append(found.question.choices[0].value)


@pytest.fixture
def session(shop):
    return Session(shop)


def test_errors_guide_follows_an_error_to_its_cause(session, line_of):
    answers = first_answers(session, "errors")
    groups, chain, root, differ, suspects = (ask(session, "errors", answers, step).step for step in range(5))
    (group,) = groups.rows
    assert group.cells[:2] == ["1", "ERROR"] and group.cells[-1] == "Order failed: item 17 is sold out"
    assert group.location.line == line_of("shop/app.py", "Order failed")
    assert [row.cells[0] for row in chain.rows][1] == "Stock.lookup used item 17, which Stock.mark_sold defined"
    assert chain.view == "slice" and chain.params["target"]["event"] == group.event
    assert root.sentence.startswith("Thread MainThread of shop.app began, ")
    assert differ.sentence == "1 request failed, 19 of the same kind did not; they make the same calls."
    assert suspects.rows[0].cells[1] == "shop.app:check"


def test_path_guide_of_slowest_request_names_its_waits(session):
    answers = first_answers(session, "path")
    assert answers[1:] == ["order", "slowest"]
    times, path, waits, together, what_if = (ask(session, "path", answers, step).step for step in range(5))
    assert times.rows[0].cells[0] == "20"
    assert path.rows and path.view == "path"
    # The path takes as long as the request, and so does the request in the what-if.
    assert path.sentence.startswith(f"{times.rows[0].cells[3]} in ")
    assert "task order" in waits.sentence
    assert together.rows
    assert what_if.rows[0].cells[0] == "shop.stock:Stock.lookup"


def test_regression_guide_finds_the_slower_function(session, line_of):
    answers = first_answers(session, "regression")
    changes, functions, suspects, code = (ask(session, "regression", answers, step).step for step in range(4))
    assert changes.rows[0].cells[:2] == ["response-time", "order"]
    assert functions.rows[0].cells[0] == "shop.stock:Stock.lookup"
    assert functions.rows[0].location.line == line_of("shop/stock.py", "def lookup")
    assert "shop.stock:Stock.lookup" in {row.cells[1] for row in suspects.rows[:2]}
    assert any("def " in row.cells[1] for row in code.rows)


@pytest.mark.parametrize("analysis", ANALYSES)
def test_guide_saved_query_has_the_findings_of_the_guide(session, shop, analysis):
    answers = first_answers(session, analysis)
    count = ask(session, analysis, answers).steps
    last = ask(session, analysis, answers, count - 1)
    done = subprocess.run(
        [sys.executable, "-W", "error", last.saved], cwd=shop, capture_output=True, text=True, check=True
    )
    graph = session.open(answers[0]).graph
    if analysis == "errors":
        chain = ask(session, analysis, answers, 1).step
        events = [row.event for row in chain.rows]
        assert all(str(graph.event(event)).strip() in done.stdout for event in events)
        assert "1 19 " in done.stdout and "shop.app:check fails" in done.stdout
    elif analysis == "path":
        assert "saved_ns=" in done.stdout and done.stdout.startswith("20 [")
    else:
        sentences = [row.cells[2] for step in (0, 2) for row in ask(session, analysis, answers, step).step.rows]
        assert sentences and all(sentence in done.stdout for sentence in sentences)


def test_guide_saved_query_edited_by_user_is_not_overwritten(session):
    answers = first_answers(session, "path")
    first = Path(ask(session, "path", answers, 4).saved)
    assert ask(session, "path", answers, 4).saved == str(first), "an unchanged one is"
    mine = first.read_text().replace("slowest", "largest")
    first.write_text(mine)
    second = Path(ask(session, "path", answers, 4).saved)
    assert second.name == "path-2.py" and first.read_text() == mine
    second.unlink()
    first.unlink()


def test_guide_query_that_cannot_be_saved_leaves_the_answer_complete(session, shop):
    answers = first_answers(session, "path")
    folder, away = shop / ".clew/queries", shop / ".clew/queries-away"
    if folder.exists():
        folder.rename(away)
    folder.write_text("a file")
    try:
        last = ask(session, "path", answers, 4)
        assert last.step.sentence and not last.saved
        assert last.unsaved == f"{folder}: the query cannot be saved there (File exists)"
        done = analyse(shop, "path", "--yes")
        assert "5. " in done.stdout and "The same in Python" not in done.stdout
        assert done.returncode and "the query cannot be saved there (File exists)" in done.stderr
    finally:
        folder.unlink()
        if away.exists():
            away.rename(folder)


def test_guide_unknown_answer_step_or_missing_run_is_explained(session, tmp_path):
    with pytest.raises(ClewError, match="is no longer one of the choices; start again"):
        ask(session, "errors", ["no such run"])
    with pytest.raises(ClewError, match="there is no step 9; there are 5, from 0"):
        ask(session, "path", first_answers(session, "path"), 9)
    nothing = ask(Session(tmp_path), "errors")
    assert nothing.question is None and nothing.step is None
    assert nothing.message == "No run yet; record one: `clew run -- python your_program.py`."


def analyse(shop, *words):
    command = [sys.executable, "-m", "clew", "analyse", *words, "--workspace", str(shop)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


def test_analyse_command_takes_first_choices_or_given_answers(shop):
    done = analyse(shop, "path", "--yes")
    assert done.returncode == 0, done.stderr
    assert "2. Critical path" in done.stdout and done.stdout.rstrip().endswith("path.py")
    done = analyse(shop, "regression", "--answer", "after", "--answer", "1", "--yes", "--json")
    document = json.loads(done.stdout)
    assert document["title"] == "Performance regression analysis" and len(document["steps"]) == 4
    refused = analyse(shop, "errors", "--answer", "nope")
    assert refused.returncode and "Unknown answer 'nope'; expected one of: after, before" in refused.stderr
    refused = analyse(shop, "errors")
    assert refused.returncode and "use --yes for the first choice" in refused.stderr
