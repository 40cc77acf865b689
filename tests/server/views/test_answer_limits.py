"""No view receives more than it can draw: the server bounds each answer whatever the request says, and counts
what it leaves out."""

from __future__ import annotations

import base64

import pytest

from clew.server.handlers import answer
from clew.server.protocol.registry import METHODS
from clew.server.session.session import Session
from tests.support.runs.compared_runs import record

SLICE = {"target": {"text": "Order failed"}, "run": "before", "level": "event"}
WALK = {"run": "before", "target": {"text": "Order failed"}}
PATTERNS = {"run": "before", "calls": 1}
COMPARE = {"before": ["before"], "after": ["after"]}
LOCALIZE = {"suspect": ["after"], "reference": ["before"]}
ERRORS = {"analysis": "errors"}
BUDGETS = {
    "slice": ("clew/slice", SLICE, "maxNodes", "views.slice.view.MAX_NODES", "nodes", "hiddenNodes"),
    "critical path, beside": ("clew/criticalPath", SLICE, "", "views.critical_path.MAX_BESIDE", "beside", "hiddenBeside"),
    "functions": ("clew/diff", {"before": "before", "after": "after"}, "maxRows", "views.diff.MAX_ROWS", "rows", "hiddenRows"),
    "aggregate": ("clew/aggregate", {"run": "before"}, "maxBoxes", "views.aggregate.MAX_BOXES", "boxes", "hiddenBoxes"),
    "timeline": (
        "clew/timeline", {"run": "before"}, "maxStrands", "views.timeline.view.MAX_STRANDS", "strands", "hiddenStrands"
    ),
    "timeline, functions": (
        "clew/timeline", {"run": "before"}, "", "views.timeline.view.MAX_FUNCTIONS", "functions", "hiddenFunctions"
    ),
    "patterns": ("clew/patterns", PATTERNS, "maxPatterns", "views.patterns.view.MAX_PATTERNS", "patterns", "hiddenPatterns"),
    "patterns, strands": ("clew/patterns", PATTERNS, "", "views.patterns.view.MAX_STRANDS", "strands", "hiddenStrands"),
    "when a pattern occurs": ("clew/patternTimes", PATTERNS, "", "views.patterns.detail.MAX_LANES", "lanes", "hiddenLanes"),
    "states": ("clew/patternDiagram", PATTERNS, "", "views.patterns.detail.MAX_STATES", "states", "hiddenStates"),
    "moves": ("clew/patternDiagram", PATTERNS, "", "views.patterns.detail.MAX_MOVES", "moves", "hiddenMoves"),
    "SQL": (
        "clew/sql", {"run": "before", "statement": "SELECT kind FROM events"}, "maxRows",
        "views.custom_views.MOST_ROWS", "rows", "hiddenRows",
    ),
    "calls of flows": (
        "clew/compare", COMPARE, "maxNodes", "views.compare.graph.MAX_NODES", "graph.nodes", "graph.hiddenNodes"
    ),
    "suspects": ("clew/localize", LOCALIZE, "maxSuspects", "views.localize.MAX_SUSPECTS", "suspects", "hiddenSuspects"),
    "arrows": (
        "clew/timelineArrows", {"run": "before", "strands": list(range(8)), "fromNs": 0, "toNs": 1e15}, "most",
        "views.timeline.view.MAX_ARROWS", "arrows", "hidden",
    ),
    "choices of a guide": (
        "clew/wizard", ERRORS, "", "guides.guide.MAX_CHOICES", "question.choices", "question.hiddenChoices"
    ),
    "rows of a guide": (
        "clew/wizard", {**ERRORS, "step": 1}, "", "guides.guide.MAX_ROWS", "step.rows", "step.hiddenRows"
    ),
}  # fmt: skip
TESTED_BELOW = {
    "clew/timelineTile",
    "clew/timelineSearch",
    "clew/walk",
    "clew/entities",
    "clew/entityEvents",
    "clew/entity",
    "clew/history",
}
"""Methods whose left-out parts are requested next, or counted by direction or by node, not in a column; of the history in
`test_history.py`, since it needs a run with writes."""
OF_ONE_THING = {
    "clew/whatIf": "figures of one label",
    "clew/value": "one value, whose chain has a limit of its own",
    "clew/timelineCall": "one call",
    "clew/entityOrigin": "one event",
    "clew/patternOccurrence": "one occurrence",
    "clew/locate": "one place",
    "clew/present": "the places that were asked for",
    "clew/source": "one file that the editor would open whole",
    "clew/recordables": "what one line of a file has",
    "clew/progress": "how one recording goes on",
    "clew/recognise": "the views for one file's head",
    "clew/views": "a workspace's own views, each written by hand",
    "clew/runs": "a workspace's runs, which its user names and removes",
    "clew/selectRun": "as clew/runs",
    "clew/chooseBaseline": "as clew/runs",
}
"""Methods without a limit, with the reason."""


def at(found, path):
    for name in path.split("."):
        found = found[name]
    return found


def test_protocol_methods_have_a_limit_or_a_reason_without_one():
    bounded = {method for method, *_ in BUDGETS.values()} | TESTED_BELOW
    assert not bounded & set(OF_ONE_THING)
    assert bounded | set(OF_ONE_THING) == set(METHODS)


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Return a workspace with runs of made-up times, since the number of suspects in a real run depends on the machine."""
    folder = tmp_path_factory.mktemp("compared")
    record(folder, "before", 1)
    record(folder, "after", 2, slow="show", more="buy")
    return folder


@pytest.mark.parametrize("view", BUDGETS)
def test_answer_is_bounded_and_counts_the_missing_parts(session, compared, monkeypatch, view):
    method, params, option, bound, column, hidden = BUDGETS[view]
    if params is LOCALIZE:
        session = Session(compared)
    if "step" in params:  # of a guide: the first choice of every question
        answers = [answer(session, method, {**params, "answers": []})["question"]["choices"][0]["value"]]
        while question := answer(session, method, {**params, "answers": answers})["question"]:
            answers.append(question["choices"][0]["value"])
        params = {**params, "answers": answers}
    everything = answer(session, method, params)
    all_there = len(at(everything, column)) + at(everything, hidden)
    assert all_there > 1, "too little to leave anything out"
    if option:
        few = answer(session, method, {**params, option: 1})
        assert (len(at(few, column)), at(few, hidden)) == (1, all_there - 1)
        params = {**params, option: 10**9}
    monkeypatch.setattr(f"clew.server.{bound}", 1)
    bounded = answer(Session(session.workspace), method, params)
    assert (len(at(bounded, column)), at(bounded, hidden)) == (1, all_there - 1)


def test_critical_path_answer_joins_segments_beyond_the_limit(session, monkeypatch):
    whole = answer(session, "clew/criticalPath", SLICE)
    assert len(whole["segments"]) > 3 and whole["hiddenSegments"] == 0
    monkeypatch.setattr("clew.server.views.critical_path.MAX_SEGMENTS", 3)
    for asked in (1, 10**9):
        few = answer(session, "clew/criticalPath", {**SLICE, "maxSegments": asked})
        assert 2 <= len(few["segments"]) <= 3 and few["hiddenSegments"] > 0 and few["totalNs"] == whole["totalNs"]


@pytest.mark.parametrize("size", [10**9, 50])
def test_pattern_parts_and_segments_are_bounded(session, monkeypatch, size):
    for bound in ("views.patterns.detail.MAX_PARTS", "views.patterns.view.MAX_STRETCHES"):
        monkeypatch.setattr(f"clew.server.{bound}", 60)
    times = answer(session, "clew/patternTimes", {**PATTERNS, "maxParts": size})
    assert len(times["whole"]) == min(size, 60)
    assert all(len(lane["begun"]) == len(lane["ns"]) == min(size, 60) for lane in times["lanes"])
    rows = answer(session, "clew/patterns", {**PATTERNS, "maxStretches": size})["patterns"]
    assert all(len(row["stretches"]) <= min(size, 60) for row in rows)
    assert all(sum(one["count"] for one in row["stretches"]) == row["count"] for row in rows)


def test_timeline_tile_has_the_lanes_that_fit_and_their_number(session, monkeypatch):
    whole = answer(session, "clew/timeline", {"run": "before"})
    lanes = [{"strand": one["strand"], "depths": max(one["depth"], 1)} for one in whole["strands"]]
    asked = {"run": whole["run"]["id"], "lanes": lanes, "scale": whole["scale"], "first": 0}
    assert answer(session, "clew/timelineTile", asked)["lanes"] == len(lanes) > 1
    monkeypatch.setattr("clew.server.views.timeline.view.MAX_CELLS", 1)
    few = answer(session, "clew/timelineTile", asked)
    assert few["lanes"] == 1
    assert len(base64.b64decode(few["cells"])) == 3 * 512 * lanes[0]["depths"]


def test_timeline_search_returns_one_match_and_counts_the_rest(session, monkeypatch):
    monkeypatch.setattr("clew.server.views.timeline.search.MOST_TEXT", 10)
    found = answer(session, "clew/timelineSearch", {"run": "before", "text": "order failed", "by": 1})
    assert found["logs"] >= 1 and len(found["match"]["text"]) == 10


def test_walk_directions_are_bounded_and_counted(session, monkeypatch):
    many, event = [], -1
    while not many:  # back from the error to an event with several ends in one direction
        here = answer(session, "clew/walk", {**WALK, **({"target": {"event": event}} if event >= 0 else {})})
        many = [way for way in here["ways"] if way["count"] > 1]
        event = next(way["ends"][0]["event"] for way in here["ways"] if way["step"] in ("cause", "out") and way["ends"])
    monkeypatch.setattr("clew.server.views.walk.MOST", 1)
    few = answer(session, "clew/walk", {"run": "before", "target": {"event": here["card"]["event"]}})
    for way in many:
        (bounded,) = (one for one in few["ways"] if one["step"] == way["step"])
        assert bounded["count"] == way["count"] > 1
        assert bounded["ends"] == way["ends"][:1]


@pytest.mark.parametrize("size", [1, 10**9])
def test_entities_boxes_are_bounded_and_count_their_contents(session, monkeypatch, size):
    whole = answer(session, "clew/entities", {"run": "before", "moment": 100})
    assert len(whole["boxes"]) == whole["entities"] > 1
    monkeypatch.setattr("clew.server.views.entities.view.MAX_BOXES", 1)
    few = answer(session, "clew/entities", {"run": "before", "moment": 100, "most": size})
    (box,) = few["boxes"]
    inside = sum(one["container"] == box["entity"] for one in whole["boxes"])
    outermost = sum(one["container"] == -1 for one in whole["boxes"])
    assert (box["hidden"], few["hidden"]) == (inside, outermost - 1)


def test_entity_lines_are_bounded_and_counted(session, monkeypatch):
    asked = {"run": "before", "fromMoment": 0, "toMoment": 100, "mostLines": 10**9}
    assert len(answer(session, "clew/entityEvents", asked)["lines"]) == 1
    monkeypatch.setattr("clew.server.views.entities.view.MAX_LINES", 0)
    few = answer(session, "clew/entityEvents", asked)
    assert (few["lines"], few["hiddenLines"]) == ([], 1)


def test_entity_happenings_are_bounded_to_the_last(session, monkeypatch):
    boxes = answer(session, "clew/entities", {"run": "before", "moment": 100})["boxes"]
    entity = max(boxes, key=lambda box: box["sent"])["entity"]
    whole = answer(session, "clew/entity", {"run": "before", "entity": entity})["happenings"]
    monkeypatch.setattr("clew.server.views.entities.view.MAX_HAPPENINGS", 1)
    few = answer(session, "clew/entity", {"run": "before", "entity": entity, "most": 10**9})["happenings"]
    assert few == whole[:1] and len(whole) > 1


def test_compare_row_details_are_bounded_and_counted(session, monkeypatch):
    details = ("calls", "precursors", "differences")
    whole = answer(session, "clew/compare", COMPARE)["rows"]
    assert any(row["calls"] for row in whole)
    monkeypatch.setattr("clew.server.views.compare.view.MAX_DETAILS", 0)
    for row, known in zip(answer(Session(session.workspace), "clew/compare", COMPARE)["rows"], whole, strict=True):
        for name in details:
            assert (len(row[name]), row[f"hidden{name.capitalize()}"]) == (0, len(known[name]))


def test_compare_names_of_requests_are_complete_up_to_a_limit(session, monkeypatch):
    whole = answer(session, "clew/compare", COMPARE)["names"]
    assert whole and answer(session, "clew/compare", COMPARE | {"request": whole[0]})["names"] == whole
    monkeypatch.setattr("clew.server.views.compare.view.MAX_NAMES", 0)
    few = answer(session, "clew/compare", COMPARE)
    assert (few["names"], few["hiddenNames"]) == ([], len(whole))


def test_localize_clusters_are_bounded_and_counted(session, monkeypatch):
    whole = answer(session, "clew/localize", {"suspect": ["before"]})
    monkeypatch.setattr("clew.server.views.localize.MAX_CLUSTERS", 0)
    few = answer(session, "clew/localize", {"suspect": ["before"]})
    assert (few["clusters"], few["hiddenClusters"]) == ([], len(whole["clusters"])) and whole["clusters"]
