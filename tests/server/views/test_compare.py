"""The comparison of runs by flows: rows, the union graph of a category, and refused comparisons."""

from __future__ import annotations

import numpy as np
import pytest

import clew
from clew.compare.requests.diff import Thresholds
from clew.records.errors import ClewError
from clew.server.handlers import handler
from clew.server.protocol.codec import decode, encode
from clew.server.protocol.views.compare import CompareParams, CompareResult, CompareThresholds
from clew.server.session.session import Session, Task
from tests.support.runs.compared_runs import NAMES, record, record_all


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    record_all(folder)
    return folder


@pytest.fixture
def session(workspace):
    return Session(workspace)


def ask(session, before, after, **more):
    sides = ([side] if isinstance(side, str) else side for side in (before, after))
    result = handler("clew/compare")(session, CompareParams(*sides, **more), Task())
    assert isinstance(result, CompareResult)
    # The encoded answer conforms to the protocol types.
    assert decode(CompareResult, encode(result)) == result
    return result


def test_compare_slower_category_is_first_with_its_call_and_graph(session):
    result = ask(session, "before", "slow")
    first = result.rows[0]
    assert (first.kind, first.name, first.countBefore, first.countAfter) == ("response-time", "show", 30, 30)
    assert first.calls[0].label == "app:show_store" and first.calls[0].location.line > 0
    assert first.medianBeforeNs < first.medianAfterNs and first.lowNs < first.shiftNs < first.highNs
    assert [row.kind for row in result.rows] == ["response-time", "", ""] and result.hiddenRows == 0
    assert result.sentence.startswith("1 slower") and "Kolmogorov" in result.explanation
    graph = result.graph
    assert (graph.category, graph.other) == (first.category, first.category)
    assert {node.status for node in graph.nodes} == {"both"} and graph.hiddenNodes == 0
    assert [node.name for node in graph.nodes if node.p is not None and node.p <= 0.05 and node.growthNs > 0] == [
        "app:show_store"
    ]
    assert [(edge.channel, edge.p is not None and edge.p <= 0.05) for edge in graph.edges] == [
        ("", False),
        ("queue", True),
    ]
    assert graph.responseAfterNs - graph.responseBeforeNs == pytest.approx(40_000, rel=0.3)
    assert sum(node.growthNs for node in graph.nodes) == pytest.approx(
        graph.responseAfterNs - graph.responseBeforeNs, abs=100
    )


def test_compare_new_flow_is_drawn_next_to_its_precursor(session):
    result = ask(session, "before", "more")
    first = result.rows[0]
    assert (first.kind, first.name, first.countBefore, first.countAfter) == ("structural", "buy", 0, 30)
    assert first.precursors[0].category == result.graph.other != result.graph.category == first.category
    (new,) = (node for node in result.graph.nodes if node.status != "both")
    assert (new.name, new.status, new.totalBeforeNs, new.depth) == ("app:audit", "after", None, 1)
    (edge,) = (edge for edge in result.graph.edges if edge.status != "both")
    assert edge.target == new.id and edge.beforeNs is None and edge.afterNs > 0
    assert new.parent == edge.source


def test_compare_any_category_can_be_drawn_next_to_any_other(session):
    rows = {row.name: row for row in ask(session, "before", "slow").rows}
    graph = ask(session, "before", "slow", category=rows["buy"].category).graph
    assert graph.category == graph.other == rows["buy"].category
    beside = ask(session, "before", "slow", category=rows["buy"].category, precursor=rows["list"].category).graph
    assert {node.status for node in beside.nodes} == {"both", "before", "after"}
    # A category has the same name in other runs.
    assert rows["buy"].category in {row.category for row in ask(session, "before-2", "slow-2").rows}
    with pytest.raises(ClewError, match="no longer have the category 'nonsense'"):
        ask(session, "before", "slow", category="nonsense")


def test_compare_accepts_several_runs_a_name_and_thresholds(session):
    result = ask(session, ["before", "before-2"], ["slow", "slow-2"], request="show")
    assert [run.name for run in result.before + result.after] == ["before", "before-2", "slow", "slow-2"]
    assert (result.requestsBefore, result.requestsAfter, result.categories) == (60, 60, 1)
    assert result.rows[0].name == "show" and set(result.names) == set(NAMES)
    strict = ask(session, "before", "slow", thresholds=CompareThresholds(slower=0.5))
    assert {row.kind for row in strict.rows} == {""} and "at least 50%" in strict.explanation


def test_compare_of_one_request_a_side_shows_both(session, workspace):
    first, last = (
        clew.open(name, workspace=workspace).requests.named("buy").flows().request[0] for name in ("before", "more")
    )
    result = ask(session, f"before@{first}", f"more@{last}", thresholds=CompareThresholds(more=1))
    assert (result.requestsBefore, result.requestsAfter) == (1, 1)
    assert result.graph.sentence.startswith("one request compared with one request")
    assert [node.name for node in result.graph.nodes if node.status == "after"] == ["app:audit"]
    assert all(node.p is None for node in result.graph.nodes)
    with pytest.raises(ClewError, match="event 0 of run before is not a request"):
        ask(session, "before@0", "more")
    pair = ask(session, "slow@typical", "slow@slowest", request="show")
    times = np.sort(clew.open("slow", workspace=workspace).requests.named("show").flows().response_ns)
    assert (pair.graph.responseBeforeNs, pair.graph.responseAfterNs) == (times[14], times[-1])
    assert ask(session, "empty@slowest", "slow@fastest").graph.countBefore == 0
    record(workspace, "night@7", 7)
    assert ask(session, "night@7", "more").requestsBefore == 90


def test_compare_graph_over_the_limit_shows_the_changed_calls(session, monkeypatch):
    graph = ask(session, "before", "slow", maxNodes=2).graph
    assert [node.name for node in graph.nodes] == ["app:serve", "app:show_store"] and graph.hiddenNodes == 1
    rows = ask(session, "before", "slow", maxRows=1)
    assert len(rows.rows) == 1 and rows.hiddenRows == 2
    monkeypatch.setattr("clew.server.views.compare.view.MAX_ROWS", 2)
    bounded = ask(session, "before", "slow", maxRows=10**9)
    assert len(bounded.rows) == 2 and bounded.hiddenRows == 1


def test_compare_that_is_impossible_says_what_to_do(session):
    assert "request MODULE:FUNCTION as NAME" in ask(session, "empty", "empty").message
    assert "choose another run" in ask(session, "before", "before").message
    one_sided = ask(session, "empty", "before")
    assert {row.kind for row in one_sided.rows} == {"structural"} and one_sided.graph.countBefore == 0
    assert {node.status for node in one_sided.graph.nodes} == {"after"}
    with pytest.raises(ClewError, match="no run has a request named 'sell'; there are buy, list, show"):
        ask(session, "before", "slow", request="sell")
    with pytest.raises(ClewError, match="name a run to compare before"):
        ask(session, [], "slow")
    with pytest.raises(ClewError, match="events in common"):
        ask(session, "before", "slow", level="event")


def test_compare_protocol_thresholds_equal_the_defaults():
    assert vars(CompareThresholds()) == vars(Thresholds())
