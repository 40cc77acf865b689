"""How the views show missing events and the clocks of several machines."""

import pytest

from clew.records.format.event import Kind
from clew.server.protocol.shared import Target
from clew.server.protocol.views.critical_path import CriticalPathParams
from clew.server.protocol.views.slice import SliceParams
from clew.server.session.session import Session
from clew.server.text.gaps import missing
from tests.support.editor.answers import ask
from tests.support.runs.damaged_runs import COUNTED, PER_CHUNK, WHY, empty_run, without_chunk, write_torn_run

CORRECTED = "clock of south corrected by −5 ms, certain to ±200 µs"
SAID = f"41 calls of store.look_up in MainThread are missing between +0.033200 s and +0.037200 s: {WHY}"


@pytest.fixture(scope="module")
def torn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torn")
    write_torn_run(folder)
    return Session(folder)


def sliced(session, level="function"):
    return ask(session, "clew/slice", SliceParams(Target(), level=level))


def test_slice_chain_names_gaps_and_clock_corrections_it_passes(torn):
    chain = sliced(torn).chain
    told = [(step.process, step.machine, step.clock, [gap.text for gap in step.gaps]) for step in chain]
    assert told[0][:3] == ("client", "north", "")
    passed = [number for number, step in enumerate(chain) if step.gaps]
    (at,) = passed
    assert told[at] == ("server", "south", CORRECTED, [SAID])
    # The next step leads from the server back to the client's request.
    assert told[at + 1] == ("client", "north", CORRECTED, [])
    assert not any(step.uncertain or step.hiddenGaps for step in chain)


def test_slice_gap_has_its_time_count_and_reason(torn):
    (gap,) = sliced(torn).gaps
    assert (gap.process, gap.strand, gap.lost, gap.function, gap.why) == (
        "server",
        "MainThread",
        COUNTED,
        "store:look_up",
        WHY,
    )
    assert (gap.fromNs, gap.toNs) == (33_200_000, 37_200_000)


@pytest.mark.parametrize("level", ["function", "process", "event"])
def test_slice_nodes_next_to_a_gap_name_it(torn, level):
    result = sliced(torn, level)
    beside = [node for node in result.nodes if node.gaps]
    assert beside
    assert {(node.process, node.machine) for node in beside} == {("server", "south")}
    assert all(node.gaps == [0] for node in beside)


def test_slice_edges_between_machines_name_the_clock_correction(torn):
    for level in ("function", "process", "event"):
        result = sliced(torn, level)
        machine = {node.id: node.machine for node in result.nodes}
        crossing = [edge for edge in result.edges if edge.kind != "next" and edge.kind != "call"]
        assert crossing
        for edge in result.edges:
            apart = machine[edge.source] != machine[edge.target]
            assert (edge.clock == CORRECTED) == (apart and edge in crossing), (level, edge)
            assert not edge.uncertain


def test_slice_order_edges_over_a_gap_name_it(torn):
    result = sliced(torn, "event")
    kind = {node.id: node.firstEvent for node in result.nodes}
    passing = [edge for edge in result.edges if edge.gaps]
    assert passing
    assert all(edge.kind == "next" for edge in passing)
    graph = torn.open().graph
    (begin,) = [row for row in range(len(graph)) if graph.kind[row] == Kind.GAP and not graph.is_over(row)]
    assert all(kind[edge.source] <= begin + 1 and kind[edge.target] >= begin for edge in passing)


def test_slice_names_machines_only_if_there_are_several(torn, session):
    result = sliced(torn)
    assert {(process.name, process.machine) for process in result.processes} == {
        ("client", "north"),
        ("server", "south"),
    }
    assert [(machine.name, machine.offsetNs) for machine in result.machines] == [
        ("north", 0),
        ("south", pytest.approx(-5_000_000, abs=2)),
    ]
    alone = ask(session, "clew/slice", SliceParams(Target()))
    assert alone.machines == alone.gaps == []
    assert {process.machine for process in alone.processes} == {node.machine for node in alone.nodes} == {""}
    assert not any(edge.clock or edge.uncertain for edge in alone.edges)


def test_critical_path_segments_name_their_gaps(torn):
    result = ask(torn, "clew/criticalPath", CriticalPathParams(Target()))
    (gap,) = result.gaps
    inside = [segment for segment in result.segments if segment.gaps]
    assert inside
    for segment in result.segments:
        overlaps = (segment.process, segment.strand) == (gap.process, gap.strand) and (
            segment.startNs < gap.toNs and segment.endNs > gap.fromNs
        )
        assert segment.gaps == ([0] if overlaps else [])
    crossing = [segment for segment in result.segments if segment.clock]
    assert {segment.clock for segment in crossing} == {CORRECTED}
    assert [machine.name for machine in result.machines] == ["north", "south"]


def test_critical_path_joined_segments_keep_gaps_and_clocks(torn):
    every = ask(torn, "clew/criticalPath", CriticalPathParams(Target()))
    few = ask(torn, "clew/criticalPath", CriticalPathParams(Target(), maxSegments=3))
    assert len(few.segments) < len(every.segments)
    assert {gap for segment in few.segments for gap in segment.gaps} == {0}
    assert {segment.clock for segment in few.segments} - {""} == {CORRECTED}


def test_missing_joins_gaps_of_one_reason_and_counts_the_rest(torn):
    graph = torn.open().graph
    (gap,) = torn.open().gaps
    assert missing(graph, [gap]).places([gap]) == [0]
    several = missing(graph, [gap, gap, gap], most=2)
    (one,) = several.shown
    assert (one.lost, one.why, several.hidden) == (3 * COUNTED, f"{WHY} (3 times)", 0)
    assert missing(graph, [gap], most=0).hidden == 1


def test_slice_clock_bounded_from_one_side_makes_times_uncertain(tmp_path):
    run = empty_run(tmp_path, "one way")
    here, there = run.process("client", host="north"), run.process("server", host="south", boot_id="other")
    here.thread().send("one", at=1000)
    there.thread().receive("one", at=2000).log("wrong", level=40, at=3000)
    run.write()
    chain = sliced(Session(tmp_path)).chain
    assert [step.uncertain for step in chain] == [False, True]
    assert "clock of south" in chain[1].clock
    assert "more than the" in chain[1].clock
    assert "about " in chain[1].detail


def test_slice_chain_names_the_missing_start_of_a_thread(tmp_path):
    run = empty_run(tmp_path, "late")
    thread = run.process("app").thread()
    for _ in range(2 * PER_CHUNK):
        thread.put(Kind.MARK)
    thread.log("wrong", level=40)
    without_chunk(run.write(), 1)
    first, last = sliced(Session(tmp_path)).chain
    assert first.gaps == []
    assert last.title == "the beginning of thread MainThread of app is missing"
    (gap,) = last.gaps
    assert gap.lost is None
    assert gap.why == "chunks 0 to 0 of thread 1 are missing"
    # The process has no earlier event.
    assert gap.text.startswith("events of MainThread are missing at +")
