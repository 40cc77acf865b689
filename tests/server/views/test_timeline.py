"""The answers of the Timeline view: strands, tiles that fit a screen, single calls and search."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from clew.graph.ops.timeline.bars import NAMED
from clew.records.errors import ClewError
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, save_run
from clew.server.handlers import answer
from clew.server.session.session import Session
from clew.server.views.timeline import view
from tests.support.runs.damaged_runs import write_torn_run
from tests.support.runs.records import RunFolder

MONTH = 30 * 86_400 * 10**9


def record(workspace, name, fill):
    folder, info = create_run(workspace, name=name, command=["app"], spec="", plan=dump(Plan()), cwd=workspace)
    save_run(folder, info)
    run = RunFolder(folder, info)
    fill(run)
    return run.write()


def two_processes(run):
    for number in range(2):
        process = run.process(f"server{number}")
        thread = process.thread("MainThread")
        thread.enter("main", at=number * 5)
        for place in range(40):
            begin = 1000 * place + 100
            thread.enter("handle", at=begin).enter("read", at=begin + 300).exit("read", at=begin + 500)
            thread.exit("handle", at=begin + 600)
        thread.exit("main", at=50_000)
        for place in range(3):
            thread.step(f"task-{place}", at=60_000 + place).enter("work", at=60_100 + place)
            thread.suspend("work", at=60_150 + place).stop(f"task-{place}", at=60_160 + place)


def long(run):
    thread = run.process().thread()
    thread.enter("wait", at=0).exit("wait", at=MONTH)
    thread.enter("late", at=MONTH + 7).exit("late", at=MONTH + 9)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    workspace = tmp_path_factory.mktemp("timeline")
    record(workspace, "long", long)
    record(workspace, "empty", lambda run: run.process().thread().log("only this"))
    write_torn_run(workspace)
    record(workspace, "two", two_processes)
    return Session(workspace)


def ask(session, **params):
    return answer(session, "clew/timeline", {"run": "two", **params})


def tile(session, lanes, scale, first, tiles=1, run="two"):
    params = {"run": run, "lanes": lanes, "scale": scale, "first": first, "tiles": tiles}
    found = answer(session, "clew/timelineTile", params)
    rows = sum(lane.get("depths", 1) for lane in lanes[: found["lanes"]])
    data = base64.b64decode(found["cells"])
    shape = (rows, 512 * tiles)
    assert len(data) == 3 * rows * shape[1]
    cells = np.frombuffer(data[: 2 * rows * shape[1]], "<u2").reshape(shape)
    covers = np.frombuffer(data[2 * rows * shape[1] :], np.uint8).reshape(shape)
    named = np.frombuffer(base64.b64decode(found["named"]), NAMED)
    return found, cells, covers, named


def test_timeline_strands_are_grouped_by_process_threads_first(session):
    found = ask(session)
    assert [process["strands"] for process in found["processes"]] == [4, 4]
    kinds = [(strand["process"], strand["kind"], strand["name"]) for strand in found["strands"]]
    assert kinds[:4] == [(kinds[0][0], "thread", "MainThread"), *((kinds[0][0], "task", f"task-{n}") for n in range(3))]
    main = found["strands"][0]
    assert main["depth"] == 3 and main["events"] > 100 and main["busy"] == 1
    assert [function["label"] for function in found["functions"]][:2] == ["app:main", "app:handle"]
    assert found["hiddenStrands"] == found["hiddenFunctions"] == found["hiddenGaps"] == 0 and found["message"] == ""
    assert len(found["activity"]) << found["scale"] >= found["toNs"] - found["fromNs"]
    assert 1.9 < found["activity"][len(found["activity"]) // 3] <= 2
    assert [strand["name"] for strand in ask(session, strand="task-1")["strands"]] == ["task-1"] * 2


def test_timeline_strands_over_the_limit_are_counted(session):
    found = ask(session, maxStrands=2)
    assert len(found["strands"]) == 2 and found["hiddenStrands"] == 6
    assert {strand["kind"] for strand in found["strands"]} == {"thread"}


def test_timeline_tile_has_running_calls_and_names_long_ones(session):
    main = ask(session)["strands"][0]
    shift = int(main["fromNs"])
    found, cells, covers, named = tile(session, [{"strand": main["strand"], "depths": 3}], 0, 2)
    sites = {function["site"]: function["label"] for function in ask(session)["functions"]}
    labels = [sites[site] for site in found["functions"]]
    begin = 1024 - shift  # the tile's first nanosecond, on the recording's clock
    for bucket in range(512):
        now = begin + bucket
        stack = ["app:main"] + ["app:handle"] * (100 <= now % 1000 < 700) + ["app:read"] * (400 <= now % 1000 < 600)
        shown = [labels[cell - 1] for cell in cells[:, bucket].tolist() if cell]
        assert shown == stack and set(covers[: len(stack), bucket].tolist()) == {255}
    assert set(named["row"].tolist()) <= {0, 1, 2}
    assert {(int(bar["end"] - bar["begin"])) for bar in named if bar["row"] == 2} == {200}


def test_timeline_tile_of_collapsed_process_shows_its_busy_strand(session):
    found = ask(session)
    process = found["processes"][0]["process"]
    main = next(strand for strand in found["strands"] if strand["process"] == process)
    _, mixed, covers, named = tile(session, [{"process": process}, {"strand": main["strand"]}], 4, 0)
    assert (mixed[0] == mixed[1]).all() and (covers[0] == covers[1]).all() and set(named["row"].tolist()) <= {1}


def test_timeline_tile_has_no_more_cells_than_the_limit(session):
    lanes = [{"strand": 0, "depths": 16}] * 100
    found, cells, _, _ = tile(session, lanes, 3, 0, 4)
    assert 0 < found["lanes"] < 100 and cells.size <= view.MAX_CELLS
    assert len(found["cells"]) < 450_000


def test_timeline_is_exact_to_a_nanosecond_after_a_month(session):
    strand = answer(session, "clew/timeline", {"run": "long"})["strands"][0]
    late = answer(session, "clew/timelineCall", {"run": "long", "strand": 0, "depth": 0, "ns": strand["toNs"] - 1})[
        "call"
    ]
    assert late["label"] == "app:late" and late["toNs"] - late["fromNs"] == 2 and late["selfNs"] == 2
    at = int(late["fromNs"])
    assert at - strand["fromNs"] == MONTH + 7
    _, cells, _, _ = tile(session, [{"strand": 0}], 0, at // 512, 2, run="long")
    here = at % 512
    assert cells[0, here - 1 : here + 3].astype(bool).tolist() == [False, True, True, False]
    assert cells[0, : max(0, here - 7)].all()
    _, wide, _, _ = tile(session, [{"strand": 0}], 43, 0, run="long")
    assert np.count_nonzero(wide[0]) == (at >> 43) + 1


def test_timeline_call_leads_to_its_neighbours(session):
    main = ask(session)["strands"][0]

    def go(move, ns, depth):
        params = {"run": "two", "strand": main["strand"], "depth": depth, "ns": ns, "move": move}
        return answer(session, "clew/timelineCall", params)["call"]

    zero = main["fromNs"]
    handle = go("at", zero + 1200, 1)
    assert (handle["label"], handle["toNs"] - handle["fromNs"], handle["selfNs"]) == ("app:handle", 600, 400)
    read = go("into", handle["fromNs"], 1)
    assert (read["label"], read["depth"]) == ("app:read", 2)
    assert go("next", read["fromNs"], 2)["fromNs"] == read["fromNs"] + 1000
    assert go("previous", read["fromNs"], 2)["fromNs"] == read["fromNs"] - 1000
    out = go("out", read["fromNs"], 2)
    assert (out["label"], out["fromNs"]) == ("app:handle", handle["fromNs"])
    assert go("out", go("out", read["fromNs"], 2)["fromNs"], 1)["label"] == "app:main"
    assert go("into", read["fromNs"], 2) is None


def test_timeline_search_counts_matches_and_continues_from_a_place(session):
    def search(**params):
        return answer(session, "clew/timelineSearch", {"run": "two", "text": " READ ", **params})

    found = search()
    assert (found["functions"], found["logs"], found["match"]) == (1, 0, None) and found["calls"] > 2
    first = search(by=1)["match"]
    assert (first["place"], first["call"]["label"], first["call"]["fromNs"]) == (1, "app:read", first["ns"])
    second = search(by=1, ns=first["ns"], event=first["event"])["match"]
    assert second["place"] == 2 and (second["ns"], second["event"]) > (first["ns"], first["event"])
    last = search(by=-1, ns=first["ns"], event=first["event"])["match"]
    assert last["place"] == found["calls"]
    line = answer(session, "clew/timelineSearch", {"run": "empty", "text": "only", "by": 1})
    assert (line["logs"], line["match"]["text"], line["match"]["call"]) == (1, "only this", None)


def test_timeline_suspended_task_is_drawn_but_is_not_a_call(session):
    task = next(strand for strand in ask(session)["strands"] if strand["kind"] == "task")
    found = answer(
        session, "clew/timelineCall",
        {"run": "two", "strand": task["strand"], "depth": 0, "ns": task["toNs"] - 5},
    )  # fmt: skip
    assert found["call"] is None
    _, cells, _, _ = tile(session, [{"strand": task["strand"]}], 0, int(task["fromNs"]) // 512, 2)
    shown = cells[0][cells[0] > 0]
    assert (shown >= 0x8000).sum() == 10 and (shown < 0x8000).sum() == 50


def test_timeline_gaps_name_their_strands(session):
    found = answer(session, "clew/timeline", {"run": "torn"})
    strands = {strand["strand"]: strand["name"] for strand in found["strands"]}
    assert found["gaps"]
    for gap in found["gaps"]:
        assert strands[gap["strand"]] == gap["missing"]["strand"] and "missing" in gap["missing"]["text"]


def test_timeline_without_events_says_what_to_do(session):
    found = answer(session, "clew/timeline", {"run": "empty"})
    assert "spec" in found["message"] and found["functions"] == []


def test_timeline_unknown_strand_or_tile_is_an_error(session):
    with pytest.raises(ClewError, match="number 99"):
        tile(session, [{"strand": 99}], 0, 0)
    for params in ({"scale": 99}, {"tiles": 0}, {"first": 1 << 60}):
        with pytest.raises(ClewError, match="no .* tiles"):
            answer(session, "clew/timelineTile", {"run": "two", "lanes": [], "scale": 0, "first": 0, **params})
    with pytest.raises(ClewError, match="in its name"):
        ask(session, strand="no such thread")
