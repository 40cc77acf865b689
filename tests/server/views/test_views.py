"""The panel's answers about a recorded program equal what its source implies."""

import shutil
from collections import Counter

import pytest

from clew.records.errors import ClewError
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, finish_run, trace_files
from clew.server.protocol.session import LocateParams, SourceParams
from clew.server.protocol.shared import Location, Target
from clew.server.protocol.views.critical_path import CriticalPathParams, PathSegment
from clew.server.protocol.views.diff import DiffParams
from clew.server.protocol.views.slice import SliceParams
from clew.server.session import session as session_module
from clew.server.session.session import Cancelled, Session, Task
from clew.server.views.critical_path import coalesce
from tests.support.editor.answers import ask


def test_slice_chain_leads_from_the_error_to_the_definition(session, shop, line_of):
    answer = ask(session, "clew/slice", SliceParams(Target(text="Order failed"), run="before"))
    titles = [step.title for step in answer.chain]
    assert titles == [
        "ERROR Order failed: item 17 is sold out",
        "Stock.lookup used item 17, which Stock.mark_sold defined",
        "Sweeper.run began as a thread that app.main started",
        "thread MainThread of shop.app began",
    ]
    error, definition, start, _ = answer.chain
    assert error.location == Location(str(shop / "shop/app.py"), line_of("shop/app.py", "log.error"))
    assert definition.location == Location(str(shop / "shop/stock.py"), line_of("shop/stock.py", "def mark_sold"))
    assert (definition.edge, definition.channel, definition.key) == ("state", "item", "17")
    assert (start.edge, start.channel) == ("use", "thread.start")
    assert [step.strand for step in answer.chain] == ["order 17", "sweeper", "MainThread", "MainThread"]
    times = [step.timeNs for step in answer.chain]
    assert times == sorted(times, reverse=True)


def test_slice_chain_crosses_processes(session):
    answer = ask(session, "clew/slice", SliceParams(Target(text="audit"), run="before"))
    assert [step.process for step in answer.chain][:2] == ["shop.audit", "shop.app"]
    assert answer.chain[1].channel == "process.start"
    assert answer.numbers.processes == 2


def test_slice_chain_steps_name_nodes_of_the_graph(session):
    for level in ("event", "function", "class", "module", "component", "task", "thread", "process", "machine"):
        answer = ask(session, "clew/slice", SliceParams(Target(text="Order failed"), level=level))
        nodes = {node.id: node for node in answer.nodes}
        assert answer.level == level and len(nodes) == len(answer.nodes)
        assert all(nodes[step.nodeId].onChain for step in answer.chain)
        assert nodes[answer.chain[0].nodeId].root
        assert all(edge.source in nodes and edge.target in nodes for edge in answer.edges)
        assert any(node.onCriticalPath for node in answer.nodes)


def test_slice_nodes_count_the_events_of_the_slice(session):
    answer = ask(session, "clew/slice", SliceParams(Target(text="Order failed"), run="before"))
    assert sum(node.events for node in answer.nodes) == answer.numbers.events
    by_id = {node.id: node for node in answer.nodes}
    # One order, one look-up of its item, and the sweeper's definition: the other nineteen orders are not causes.
    assert by_id["shop.stock:Stock.lookup"].calls == 1
    assert by_id["shop.app:order"].calls == 1
    assert by_id["shop.stock:Stock.mark_sold"].kind == "state"
    assert by_id["shop.app:order"].kind == "request"
    (state,) = [edge for edge in answer.edges if edge.kind == "state"]
    assert (state.source, state.target) == ("shop.stock:Stock.mark_sold", "shop.stock:Stock.lookup")
    assert state.onChain and state.channel == "item" and state.latencyNs > 0


def test_slice_level_of_spec_labels_the_nodes(session):
    answer = ask(session, "clew/slice", SliceParams(Target(text="audit"), level="component"))
    assert {"desk", "shelf", "office"} <= {node.id for node in answer.nodes}
    assert "component" in answer.levels


def test_slice_nodes_over_the_limit_are_counted_and_the_chain_stays(session):
    whole = ask(session, "clew/slice", SliceParams(Target(text="audit")))
    few = ask(session, "clew/slice", SliceParams(Target(text="audit"), maxNodes=3))
    assert len(few.nodes) == 3
    assert few.hiddenNodes == len(whole.nodes) - 3
    assert all(node.root or node.onChain for node in few.nodes)
    events = ask(session, "clew/slice", SliceParams(Target(text="audit"), level="event", maxNodes=10))
    assert len(events.nodes) == 10 and events.hiddenNodes > 0
    assert all(step.nodeId for step in events.chain)


def test_slice_event_graph_joins_neighbours_and_edge_ends(session):
    answer = ask(
        session, "clew/slice", SliceParams(Target(text="Order failed"), run="before", level="event", maxNodes=1000)
    )
    nodes = {node.id: node for node in answer.nodes}
    for edge in answer.edges:
        source, target = nodes[edge.source], nodes[edge.target]
        assert source.firstNs <= target.firstNs
        if edge.kind == "next":
            assert source.lane == target.lane
    chain = {(edge.source, edge.target) for edge in answer.edges if edge.onChain}
    reached = {answer.chain[0].nodeId}
    for _ in range(len(nodes)):
        reached |= {source for source, target in chain if target in reached}
    # The highlighted edges alone lead from the error to every event of the chain except the start of its root.
    assert {step.nodeId for step in answer.chain if step.edge != "scope"} <= reached


def test_slice_forward_has_the_effects(session):
    answer = ask(
        session,
        "clew/slice",
        SliceParams(Target(function="shop.stock:Stock.mark_sold"), run="before", direction="forward"),
    )
    assert {"shop.stock:Stock.lookup", "shop.app:order"} <= {node.id for node in answer.nodes}


def test_slice_target_can_be_a_line_of_a_log_file(session, shop, line_of):
    log = Location(str(shop / "shop.log"), line_of("shop.log", "Order failed"))
    answer = ask(session, "clew/slice", SliceParams(Target(location=log)))
    assert answer.chain[0].title == "ERROR Order failed: item 17 is sold out"
    # The first such line was written by the older run, although the newer one is selected.
    assert answer.run.name == "before"


def test_slice_target_can_be_a_logging_call_or_a_function(session, shop, line_of):
    call = Location(str(shop / "shop/app.py"), line_of("shop/app.py", "log.error"))
    assert (
        ask(session, "clew/slice", SliceParams(Target(location=call))).chain[0].title.startswith("ERROR Order failed")
    )
    inside = Location(str(shop / "shop/stock.py"), line_of("shop/stock.py", "self._sold.add(item)"))
    answer = ask(session, "clew/slice", SliceParams(Target(location=inside)))
    assert answer.title == "last call of Stock.mark_sold"
    answer = ask(session, "clew/slice", SliceParams(Target(function="shop.stock:Stock.lookup")))
    assert answer.title == "20 calls of Stock.lookup"
    assert next(node for node in answer.nodes if node.id == "shop.stock:Stock.lookup").calls == 20


def test_slice_without_target_starts_at_the_newest_error(session):
    assert (
        ask(session, "clew/slice", SliceParams(Target(), run="before")).title
        == "ERROR Order failed: item 17 is sold out"
    )


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (Target(text="Ordr failled"), "'Order failed: item 17 is sold out'"),
        (Target(text="zzz"), "of 4 log lines, none is near"),
        (Target(event=10**9), "has no event 1000000000"),
        (Target(function="shop.stock:Stock.lookp"), "did you mean shop.stock:Stock.lookup?"),
        (Target(location=Location("/nowhere/x.py", 3)), "it recorded no function of the file"),
        (Target(location=Location("/nowhere/x.log", 3)), "there is no such line"),
    ],
)
def test_slice_target_that_matches_nothing_is_a_message(session, target, text):
    answer = ask(session, "clew/slice", SliceParams(target, run="before"))
    assert text in answer.message
    assert answer.nodes == [] and answer.chain == [] and answer.run.name == "before"


def test_slice_unknown_level_is_refused_by_name(session):
    with pytest.raises(ClewError, match="did you mean 'function'"):
        ask(session, "clew/slice", SliceParams(Target(text="audit"), level="functoin"))


def test_critical_path_segments_add_up_to_the_total(session):
    for text in ("audit", "Order failed"):
        answer = ask(session, "clew/criticalPath", CriticalPathParams(Target(text=text), run="after"))
        assert sum(segment.selfNs + segment.waitNs for segment in answer.segments) == pytest.approx(answer.totalNs)
        assert "event" not in answer.levels


def test_critical_path_to_slow_call_has_its_work_and_its_waits(session, shop, line_of):
    answer = ask(session, "clew/criticalPath", CriticalPathParams(Target(text="Order failed"), run="after"))
    (lookup,) = [segment for segment in answer.segments if segment.label == "shop.stock:Stock.lookup"]
    assert lookup.selfNs >= 3e6 * 0.9
    assert lookup.location == Location(str(shop / "shop/stock.py"), line_of("shop/stock.py", "def lookup"))
    # Seventeen orders ran in the loop before this order.
    assert sum(segment.waitNs for segment in answer.segments) >= 17 * 3e6 * 0.9


segments = [
    PathSegment(f"s{at}", "p", "t", float(at % 7), float(at % 3), 0.0, float(at), float(at + 1), f"s{at}")
    for at in range(100)
]


@pytest.mark.parametrize("limit", [3, 4, 10, 50, 99, 100, 1000])
def test_coalesce_keeps_the_sums_of_segments(limit):
    joined = coalesce(segments, limit)
    assert len(joined) <= max(limit, 3)
    for name in ("selfNs", "waitNs"):
        assert sum(getattr(s, name) for s in joined) == sum(getattr(s, name) for s in segments)
    assert [s.startNs for s in joined] == sorted(s.startNs for s in joined)
    assert (joined[0].startNs, joined[-1].endNs) == (0.0, 100.0)
    kept = [s for s in joined if s.nodeId]
    least = min((s.selfNs + s.waitNs for s in kept), default=0)
    lost = [s for s in segments if s.nodeId not in {k.nodeId for k in kept}]
    # Only a segment between two long segments may be shorter than a joined segment.
    assert limit >= 100 or all(s.selfNs + s.waitNs <= max(least, 8) for s in lost)


def test_diff_has_the_slower_function_with_its_statistics(session, shop, line_of):
    answer = ask(session, "clew/diff", DiffParams("before", "after"))
    # The first row depends on the scatter of measured calls: see `tests/cli/answer/test_diff_functions.py`.
    (slower,) = [row for row in answer.rows if row.label == "shop.stock:Stock.lookup"]
    assert (slower.status, slower.callsBefore, slower.callsAfter) == ("both", 20, 20)
    assert slower.deltaNs >= 20 * 3e6 * 0.9
    assert slower.perCallAfterNs == pytest.approx(slower.selfAfterNs / 20)
    assert slower.location == Location(str(shop / "shop/stock.py"), line_of("shop/stock.py", "def lookup"))
    assert answer.sentence
    pairs = Counter((edge.source, edge.target) for edge in answer.edges)
    assert max(pairs.values()) == 1
    assert {edge.status for edge in answer.edges} == {"both"}


def test_diff_rows_over_the_limit_are_counted(session):
    whole = ask(session, "clew/diff", DiffParams("before", "after"))
    few = ask(session, "clew/diff", DiffParams("before", "after", maxRows=2))
    assert few.rows == whole.rows[:2]
    assert few.hiddenRows == len(whole.rows) - 2
    assert {node.id for node in few.nodes} == {row.label for row in few.rows}


def test_diff_of_run_with_itself_has_a_message(session):
    assert "choose another one" in ask(session, "clew/diff", DiffParams("after", "after")).message


def test_diff_at_event_level_is_refused(session):
    with pytest.raises(ClewError, match="no events in common"):
        ask(session, "clew/diff", DiffParams("before", "after", "event"))


def test_locate_line_returns_its_function(session, shop, line_of):
    place = Location(str(shop / "shop/stock.py"), line_of("shop/stock.py", "self._sold.add(item)"))
    answer = ask(session, "clew/locate", LocateParams(place))
    assert answer.function == "shop.stock:Stock.mark_sold"
    assert answer.location.line == line_of("shop/stock.py", "def mark_sold")
    assert ask(session, "clew/locate", LocateParams(Location(str(shop / "shop/stock.py"), 1))).function == ""
    assert ask(session, "clew/locate", LocateParams(Location(str(shop / "shop.log"), 1))).function == ""


def test_locate_line_of_edited_file_returns_its_function(session, shop, line_of):
    path = shop / "shop/stock.py"
    session.open_texts = lambda: [(str(path), "# new\n" * 50 + path.read_text())]
    answer = ask(
        session, "clew/locate", LocateParams(Location(str(path), line_of("shop/stock.py", "self._sold.add") + 50))
    )
    assert (answer.function, answer.location.line) == (
        "shop.stock:Stock.mark_sold", line_of("shop/stock.py", "def mark_sold") + 50
    )  # fmt: skip


def test_source_returns_the_lines_around_a_line(session, shop, line_of):
    line = line_of("shop/stock.py", "def mark_sold")
    answer = ask(session, "clew/source", SourceParams(Location(str(shop / "shop/stock.py"), line), context=2))
    assert answer.firstLine == line - 2
    assert answer.lines == (shop / "shop/stock.py").read_text().splitlines()[line - 3 : line + 2]


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "{shop}/.clew/.gitignore", "{shop}/../shop.txt", "{shop}/secret.env", ""]
)
def test_source_of_other_file_is_refused(session, shop, path):
    with pytest.raises(ClewError, match="not shown"):
        ask(session, "clew/source", SourceParams(Location(path.format(shop=shop), 1)))


def test_slice_that_is_cancelled_raises_cancelled(session):
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        ask(session, "clew/slice", SliceParams(Target(text="audit")), task)


def test_slice_reports_its_phases(session):
    phases = []
    ask(session, "clew/slice", SliceParams(Target(text="audit")), Task(phases.append))
    assert phases[0].startswith("reading run ")
    assert phases[1:] == [phases[1], "looking for the event", "slicing", "walking back", "aggregating"]


def test_session_graph_is_cached_until_its_files_change(session, shop):
    first = session.open("before")
    assert session.open("before") is first
    assert session.functions("before") is session.functions("before")
    run_file = first.folder / "run.json"
    run_file.write_text(run_file.read_text() + "\n")
    assert session.open("before") is not first


def test_session_removed_selected_run_falls_back_to_the_newest(session, shop, tmp_path):
    session.select("before")
    assert session.folder().name.endswith("-before")
    other = Session(shop)
    other._selected = str(shop / ".clew/runs/gone")
    assert other.runs().selected.endswith("-after")
    assert other.folder().name.endswith("-after")


def test_session_run_selected_during_fallback_stays_selected(shop, monkeypatch):
    session = Session(shop)
    session._selected = str(shop / ".clew/runs/gone")
    find = session_module.find_run

    def find_slowly(workspace, which=None):
        if which and which.endswith("gone"):
            monkeypatch.undo()
            session.select("before")
        return find(workspace, which)

    monkeypatch.setattr(session_module, "find_run", find_slowly)
    session.folder()
    assert session.folder().name.endswith("-before")


def test_session_live_run_is_read_again_only_after_a_pause(shop, tmp_path, monkeypatch):
    folder, info = create_run(tmp_path, name="going", command=["python"], spec="", plan=dump(Plan()))
    traces = trace_files(Session(shop).folder("before"))

    def arrives(trace):
        """Copy the files of a process: its trace and its compressed blocks."""
        for file in trace.parent.glob(trace.name + "*"):
            shutil.copy(file, folder)

    arrives(traces[0])
    session = Session(tmp_path)
    first = session.open()
    arrives(traces[1])
    assert session.open() is first
    monkeypatch.setattr(session_module, "PAUSE", 0.0)
    monkeypatch.setattr(session_module, "PAUSES", 0)
    later = Session(tmp_path)
    second = later.open()
    assert len(second.graph) > len(first.graph)
    for file in folder.glob(traces[1].name + "*"):
        file.unlink()
    assert len(later.open().graph) == len(first.graph)
    # A finished run is read again as soon as its files change.
    finish_run(folder, info, 0, [])
    assert session.open() is not first
