"""Gaps mark missing events: lost chunks, damage and gap marks, in the graph, its store and slices."""

import pytest

from clew.graph.build.builder import build
from clew.graph.model.gaps import between, gaps, lost_calls_of, stretch
from clew.graph.model.graph import Gap
from clew.graph.store.store import load, open_graph
from clew.query.api import Run, open_run
from clew.records.format import header as h
from clew.records.format.event import FLAG_OVER, Kind
from clew.records.run.directory import record_files
from tests.support.runs.damaged_runs import PER_CHUNK, without_chunk


@pytest.fixture
def calls(run):
    thread = run.process().thread()
    for _ in range(PER_CHUNK):
        thread.enter("f").exit("f").enter("f").exit("f")
    return run.write()


def test_gaps_lost_chunk_is_gap_between_surrounding_events(calls):
    without_chunk(calls, 2)
    graph, _ = build(calls)
    assert len(graph) == 3 * PER_CHUNK
    assert gaps(graph) == [Gap(0, PER_CHUNK - 1, PER_CHUNK, None, "chunks 1 to 1 of thread 1 are missing")]
    assert int(graph.ts[PER_CHUNK] - graph.ts[PER_CHUNK - 1]) == (PER_CHUNK + 1) * 10
    open_graph(calls)
    stored, _ = load(calls)
    assert gaps(stored) == gaps(graph)


def test_gaps_lost_first_chunk_is_gap_before_first_event(calls):
    without_chunk(calls, 1)
    graph, _ = build(calls)
    assert gaps(graph) == [Gap(0, -1, 0, None, "chunks 0 to 0 of thread 1 are missing")]


def test_gaps_damage_inside_chunk_is_gap_up_to_next_chunk(calls):
    (file,) = record_files(calls)
    data = bytearray(file.read_bytes())
    at = h.HEADER_SIZE + 2 * h.CHUNK_SIZE + h.CHUNK_HEADER_SIZE + 10 * 16
    data[at + 8] = 200
    file.write_bytes(data)
    graph, _ = build(calls)
    (gap,) = gaps(graph)
    assert (gap.strand, gap.after, gap.before, gap.lost) == (0, PER_CHUNK + 9, PER_CHUNK + 10, None)
    assert "unknown kind 200" in gap.why


def test_gaps_of_complete_run_are_empty(calls):
    opened = open_run(calls)
    assert list(opened.gaps) == []
    assert opened.gaps.to_arrow().schema.field("lost").type == "int64"
    assert opened.sql("select why from gaps where why like '%quota%' and lost > 0").count() == 0


def test_gaps_lost_chunk_between_two_strands_is_gap_in_each(run):
    thread = run.process().thread()
    thread.step("one")
    for _ in range(PER_CHUNK - 2 + PER_CHUNK):
        thread.put(Kind.MARK)
    thread.step("two").put(Kind.MARK)
    folder = run.write()
    without_chunk(folder, 2)
    graph, _ = build(folder)
    why = "chunks 1 to 1 of thread 1 are missing"
    assert gaps(graph) == [Gap(1, PER_CHUNK - 2, -1, None, why), Gap(2, -1, PER_CHUNK - 1, None, why)]


def test_gap_marks_count_calls_that_were_not_recorded(run):
    thread = run.process().thread()
    site = run.processes[0].site("hot")
    thread.enter("hot").exit("hot").put(Kind.GAP, site, key=0, text="too dear").enter("cold").exit("cold")
    thread.put(Kind.GAP, site, key=41, text="recorded again", flags=FLAG_OVER).enter("hot").exit("hot")
    thread.put(Kind.GAP, site, key=0, text="too dear again")
    graph = run.graph()
    assert gaps(graph) == [Gap(0, 2, 5, 41, "app:hot: too dear"), Gap(0, 8, -1, None, "app:hot: too dear again")]
    assert str(gaps(graph)[0]) == "between events 2 and 5 of strand 0 41 are missing: app:hot: too dear"


def test_gap_of_a_rate_limit_is_not_counted_as_missing_calls(run):
    thread = run.process().thread()
    site = run.processes[0].site("f")
    thread.enter("f").put(Kind.GAP, site, key=0, text="too dear")
    thread.put(Kind.GAP, site, key=0, channel="size payloads", text="at most 2/s").exit("f").enter("f").exit("f")
    thread.put(Kind.GAP, site, key=3, channel="size payloads", text="at most 2/s", flags=FLAG_OVER)
    thread.put(Kind.GAP, site, key=9, text="again", flags=FLAG_OVER)
    graph = run.graph()
    calls, payloads = gaps(graph)
    assert (calls.after, calls.before, calls.lost, lost_calls_of(graph, calls)) == (1, 7, 9, "app:f")
    assert (payloads.after, payloads.before, payloads.lost, lost_calls_of(graph, payloads)) == (2, 6, 3, "")


def test_slice_gaps_lists_only_gaps_next_to_its_events(run):
    one, other = run.process().thread(), run.processes[0].thread()
    one.enter("f").put(Kind.GAP, run.processes[0].site("f"), text="too dear").send(1).exit("f")
    other.enter("g").receive(1).exit("g")
    opened: Run = open_run(run.write())
    received = next(row for row in range(len(opened.graph)) if opened.graph.kind[row] == Kind.RECEIVE)
    assert opened.slice(received).gaps() == list(opened.gaps) != []
    assert opened.slice(received, direction="forward").gaps() == []


def test_gap_mark_of_dropped_records_is_gap_before_the_mark(run):
    thread = run.process().thread()
    thread.enter("f").put(Kind.GAP, text="they were dropped to stay within the quota").exit("f")
    graph = run.graph()
    (gap,) = gaps(graph)
    assert (gap.before, gap.lost, gap.why) == (1, None, "they were dropped to stay within the quota")
    assert graph.kind[gap.before] == Kind.GAP


def test_gap_ended_by_mark_of_another_thread_ends_at_next_own_event(run):
    one, other = run.process().thread(), run.processes[0].thread("worker")
    hot = run.processes[0].site("hot")
    one.put(Kind.GAP, hot, key=0, text="too dear", at=10).put(Kind.MARK, at=20)
    other.put(Kind.GAP, hot, key=7, text="again", flags=FLAG_OVER, at=30)
    one.put(Kind.MARK, at=40).put(Kind.MARK, at=50)
    (gap,) = gaps(run.graph())
    assert (gap.strand, gap.after, gap.before, gap.lost) == (0, 0, 2, 7)


def test_gap_duration_is_from_event_before_to_event_after(calls):
    without_chunk(calls, 2)
    graph, _ = build(calls)
    (gap,) = gaps(graph)
    assert stretch(graph, gap) == (graph.ts[PER_CHUNK - 1], graph.ts[PER_CHUNK])


def test_gap_at_end_of_thread_lasts_until_its_process_ends(run):
    hot = run.process().site("hot")
    run.processes[0].thread().put(Kind.MARK).put(Kind.GAP, hot, key=0, text="too dear").put(Kind.MARK)
    run.processes[0].thread("other").put(Kind.MARK, at=5000)
    graph = run.graph()
    (gap,) = gaps(graph)
    assert stretch(graph, gap) == (graph.ts[1], graph.processes[0].last_ns)
    assert graph.processes[0].last_ns >= 5000


def test_gaps_between_two_events_are_only_those_inside(calls):
    without_chunk(calls, 2)
    graph, _ = build(calls)
    assert between(graph, 0, PER_CHUNK - 1) == between(graph, PER_CHUNK, PER_CHUNK + 9) == []
    assert between(graph, 0, PER_CHUNK) == between(graph, PER_CHUNK - 1, PER_CHUNK) == gaps(graph)


def test_gaps_are_table_for_arrow_and_sql(run):
    thread = run.process().thread()
    hot = run.processes[0].site("hot")
    thread.put(Kind.GAP, hot, key=0, text="too dear", at=100).put(Kind.GAP, hot, key=41, flags=FLAG_OVER, at=400)
    opened = open_run(run.write())
    assert opened.gaps.count() == 1
    assert repr(opened.gaps).endswith(".gaps")
    assert opened.gaps.explain(counts=True).endswith(".gaps  (1 gap)")
    (row,) = opened.gaps.to_arrow().to_pylist()
    assert row == {
        "process": "server",
        "strand": "MainThread",
        "from_ns": opened.graph.ts[0],
        "to_ns": opened.graph.ts[1],
        "lost": 41,
        "function": "app:hot",
        "why": "app:hot: too dear",
        "after": 0,
        "before": 1,
        "strand_id": 0,
    }
    assert list(opened.sql("select function, lost, to_ns - from_ns from gaps")) == [("app:hot", 41, 300)]
    with pytest.raises(AttributeError, match="gaps are rows"):
        opened.gaps.where(lost=41)
