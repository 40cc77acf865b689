"""No view ever receives more than it can draw: each answer has a bound of the server's own, whatever was asked for, and counts
what it leaves out."""

from __future__ import annotations

import pytest

from clew.server.handlers import answer

SLICE = {"target": {"text": "Order failed"}, "run": "before", "level": "event"}
PATTERNS = {"run": "before", "calls": 1}
BUDGETS = {
    "slice": ("clew/slice", SLICE, "maxNodes", "slice.MAX_NODES", "nodes", "hiddenNodes"),
    "critical path, beside": ("clew/criticalPath", SLICE, "", "critical_path.MAX_BESIDE", "beside", "hiddenBeside"),
    "functions": ("clew/diff", {"before": "before", "after": "after"}, "maxRows", "diff.MAX_ROWS", "rows", "hiddenRows"),
    "aggregate": ("clew/aggregate", {"run": "before"}, "maxBoxes", "aggregate.MAX_BOXES", "boxes", "hiddenBoxes"),
    "timeline": ("clew/timeline", {"run": "before"}, "maxStrands", "timeline.MAX_STRANDS", "strands", "hiddenStrands"),
    "timeline, functions": (
        "clew/timeline", {"run": "before"}, "", "timeline.MAX_FUNCTIONS", "functions", "hiddenFunctions"
    ),
    "patterns": ("clew/patterns", PATTERNS, "maxPatterns", "patterns.MAX_PATTERNS", "patterns", "hiddenPatterns"),
    "patterns, strands": ("clew/patterns", PATTERNS, "", "patterns.MAX_STRANDS", "strands", "hiddenStrands"),
    "when a pattern occurs": ("clew/patternTimes", PATTERNS, "", "pattern_looks.MAX_LANES", "lanes", "hiddenLanes"),
    "states": ("clew/patternDiagram", PATTERNS, "", "pattern_looks.MAX_STATES", "states", "hiddenStates"),
    "moves": ("clew/patternDiagram", PATTERNS, "", "pattern_looks.MAX_MOVES", "moves", "hiddenMoves"),
    "SQL": (
        "clew/sql", {"run": "before", "statement": "SELECT kind FROM events"}, "maxRows", "own.MOST_ROWS", "rows",
        "hiddenRows",
    ),
}  # fmt: skip


@pytest.mark.parametrize("view", BUDGETS)
def test_a_view_receives_no_more_than_it_can_draw(session, monkeypatch, view):
    method, params, option, bound, column, hidden = BUDGETS[view]
    everything = answer(session, method, params)
    all_there = len(everything[column]) + everything[hidden]
    assert all_there > 1, "too little to leave anything out"
    if option:
        few = answer(session, method, {**params, option: 1})
        assert (len(few[column]), few[hidden]) == (1, all_there - 1)
        params = {**params, option: 10**9}
    monkeypatch.setattr(f"clew.server.panel.{bound}", 1)
    bounded = answer(session, method, params)
    assert (len(bounded[column]), bounded[hidden]) == (1, all_there - 1)


def test_what_is_left_out_of_a_path_is_a_segment_of_its_own(session, monkeypatch):
    whole = answer(session, "clew/criticalPath", SLICE)
    assert len(whole["segments"]) > 3 and whole["hiddenSegments"] == 0
    monkeypatch.setattr("clew.server.panel.critical_path.MAX_SEGMENTS", 3)
    for asked in (1, 10**9):
        few = answer(session, "clew/criticalPath", {**SLICE, "maxSegments": asked})
        assert 2 <= len(few["segments"]) <= 3 and few["hiddenSegments"] > 0 and few["totalNs"] == whole["totalNs"]


@pytest.mark.parametrize("size", [10**9, 50])
def test_parts_and_stretches_of_patterns_are_no_more_than_pixels(session, monkeypatch, size):
    for bound in ("pattern_looks.MAX_PARTS", "patterns.MAX_STRETCHES"):
        monkeypatch.setattr(f"clew.server.panel.{bound}", 60)
    times = answer(session, "clew/patternTimes", {**PATTERNS, "maxParts": size})
    assert len(times["whole"]) == min(size, 60)
    assert all(len(lane["begun"]) == len(lane["ns"]) == min(size, 60) for lane in times["lanes"])
    rows = answer(session, "clew/patterns", {**PATTERNS, "maxStretches": size})["patterns"]
    assert all(len(row["stretches"]) <= min(size, 60) for row in rows)
    assert all(sum(one["count"] for one in row["stretches"]) == row["count"] for row in rows)
