"""A comparison names the functions that regressed, with their numbers and places."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from clew.records.errors import ClewError
from clew.server.functions import regressions
from clew.server.functions.regressions import find
from clew.server.handlers import handler
from clew.server.session import baseline
from clew.server.session.session import Session, Task
from tests.support.runs.compared_runs import record

PLANTED = {
    "before": {},
    "same": {},
    "slow": {"slow": "show"},
    "more": {"more": "buy"},
    "works": {"fails": "nothing"},
    "fails": {"fails": "buy"},
    "empty": {"requests": 0},
}


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    folder = tmp_path_factory.mktemp("findings")
    for number, name in enumerate(PLANTED):
        record(folder, name, number, **PLANTED[name])
    return Session(folder)


def rows(session, before, after):
    return find(session, baseline.find(session.workspace, before), after, Task()).rows


def test_regressions_two_healthy_runs_have_no_findings(session):
    assert rows(session, "before", "same") == ()


def test_regressions_name_the_slower_function_with_its_numbers(session):
    (found,) = rows(session, "before", "slow")
    assert (found.kind, found.label) == ("slower", "app:show_store")
    assert found.short.startswith("+") and found.short.endswith(" %) since before, 30 requests, p < 0.001")
    share = int(found.short.partition("(")[2].partition(" %")[0])
    assert 15 <= share <= 25  # 20 % were planted
    assert "in requests show, 30 before and 30 after" in found.sentence
    ((words, root),) = found.related
    assert words.startswith("requests show: ") and root.qualname == "serve"


def test_regressions_name_the_caller_of_a_new_call(session):
    found = rows(session, "before", "more")[0]
    assert (found.kind, found.label) == ("calls", "app:serve")
    assert found.short == "calls app.audit once more since before, 30 requests, p < 0.001"
    assert found.sentence.startswith(
        "app.serve calls app.audit once more since before: in 30 requests buy of a flow that had none before"
    )


def test_regressions_name_the_caller_of_a_missing_call(session):
    found = [one for one in rows(session, "more", "before") if one.kind == "calls"]
    assert [one.label for one in found] == ["app:serve"]
    assert found[0].short.startswith("calls app.audit once less since more, 30 requests")


def test_regression_opens_its_category_in_compare(session):
    (found,) = rows(session, "before", "slow")
    answer = handler("clew/compare")(session, found.params, Task())
    assert answer.graph.category == found.params.category == answer.rows[0].category


def test_regressions_error_found_by_localize_has_the_rank_of_its_suspect(session):
    (found,) = rows(session, "works", "fails")
    assert (found.kind, found.label) == ("suspect", "app:parse")
    told = "suspect 1 since works: item … cannot be read in 0 % -> 17 % of visits, 90 requests, p < 0.001"
    assert found.short == told
    assert found.sentence.startswith("suspect 1 since works, ")
    assert "app:parse: item … cannot be read in 0% -> 17% of visits (of 90 and 90 requests)" in found.sentence
    answer = handler("clew/localize")(session, found.params, Task())
    assert answer.suspects[0].method == found.label


def test_regressions_run_without_requests_raises_and_hints_at_the_spec(session):
    for before, after in (("before", "empty"), ("empty", "before")):
        with pytest.raises(ClewError, match="there are no requests in empty; mark where they begin in a spec"):
            rows(session, before, after)


def test_slower_function_is_named_although_its_requests_wait_longer_for_their_turn(monkeypatch, tmp_path):
    monkeypatch.setattr(regressions, "_requests", lambda mutation, places: [])
    edge = SimpleNamespace(target="app:look_up", own_before_ns=1e4, own_after_ns=3e6, p=1e-5)
    changed = SimpleNamespace(
        name="order", edges=(edge,), count_before=20, count_after=20, mean_before_ns=2e5, mean_after_ns=143e6,
        turns_ns=(1.5e5, 139e6),
    )  # fmt: skip
    question = SimpleNamespace(
        before=SimpleNamespace(name="before"),
        places=SimpleNamespace(of=lambda label: regressions.Place("app.py", "look_up", 3, tmp_path)),
        category=lambda mutation: None,
    )
    found = regressions._slower(SimpleNamespace(slower=(changed,)), question)
    assert [row.label for row in found] == ["app:look_up"]
