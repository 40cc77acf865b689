"""Test the flows of requests rule by rule, and compare them with a naive traversal of requests, regions and calls."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.graph.build.builder import build
from clew.graph.model.text_templates import SLOT
from clew.graph.ops.flows.calls import _in_cycles
from clew.graph.ops.flows.flows import Flows, concat
from clew.query.api import Run, open_run
from clew.records.format.event import Kind
from tests.support.graphs.naive_flows import Naive, random_run


def tree(flows, request):
    """Return a request's flow as nested (name, children) with sorted children."""
    at = flows.places(request)
    below = defaultdict(list)
    for place, parent in enumerate(flows.parent[at].tolist()):
        below[parent].append(place)

    def build(place):
        return (flows.labels[flows.label[at][place]], tuple(sorted(build(kid) for kid in below[place])))

    assert below[-1] == [0]
    return build(0)


def written(flows, request=0):
    """Return a request's calls in order, indented by depth, each with the channel that opened it."""
    lines, depth = [], {-1: -1}
    at = flows.places(request)
    for place, (label, parent, channel) in enumerate(
        zip(flows.label[at].tolist(), flows.parent[at].tolist(), flows.channel[at].tolist(), strict=True)
    ):
        depth[place] = depth[parent] + 1
        opened = flows.channels[channel]
        lines.append(
            "  " * depth[place] + flows.labels[label].removeprefix("app:") + (f" ({opened})" if opened else "")
        )
    return lines


def flows_in(run, **options) -> Flows:
    return Flows.of(open_run(run.write()), **options)


def test_flow_of_shared_generator_belongs_to_the_resuming_request(run):
    thread = run.process().thread()
    # The first request makes a generator inside another one; the second resumes the inner one through the outer one.
    thread.enter("serve").request("serve").enter("ask").enter("outer").enter("inner").enter("make").exit("make")
    thread.suspend("inner").suspend("outer").exit("ask").exit("serve")
    thread.enter("serve").request("serve").enter("ask").resume("outer").resume("inner").enter("make").log("made").exit(
        "make"
    )
    thread.log("told").suspend("inner").suspend("outer").enter("after").exit("after").exit("ask").exit("serve")
    flows = flows_in(run)
    assert written(flows, 0) == ["serve", "  ask", "    outer", "      inner", "        make"]
    assert written(flows, 1) == ["serve", "  ask", "    after", "    make"]
    assert [written(flows, 1)[call - flows.first[1]].strip() for call in flows.log_call] == ["ask", "make"]


@pytest.mark.parametrize("seed", range(40))
def test_flows_equal_naive_traversal(new_run, seed):
    run = random_run(new_run, seed)
    graph, naive = run.graph, Naive(run.graph)
    below = defaultdict(list)
    for frame in naive.frames():
        below[naive.above(frame)].append(frame)
    logs = defaultdict(list)
    for row in graph.rows_of([Kind.LOG]).tolist():
        logs[naive.frame_at(row)].append(row)
    flows = Flows.of(run)
    assert flows.request.tolist() == graph.rows_of([Kind.REQUEST]).tolist()
    shapes = defaultdict(set)
    offsets = {}
    for number, request in enumerate(flows.request.tolist()):
        root = naive.root(request)
        at = flows.places(number)
        found = {naive.event(root): root}
        parents = {naive.event(root): None}
        rest = [root]
        for frame in rest:
            for kid in below[frame]:
                found[naive.event(kid)], parents[naive.event(kid)] = kid, naive.event(frame)
                rest.append(kid)
        events = flows.event[at].tolist()
        assert sorted(events) == sorted(found)
        for place, event in enumerate(events):
            parent = int(flows.parent[at][place])
            assert parents[event] == (events[parent] if parent >= 0 else None) and parent < place
            assert flows.labels[flows.label[at][place]] == naive.name(found[event])
            assert flows.instances[flows.instance[at][place]].startswith(
                graph.process_of(event).host if len({process.host for process in graph.processes}) > 1 else
                graph.process_of(event).name
            )  # fmt: skip
            first = naive.event(root)
            hosts = graph.process_of(first).host, graph.process_of(event).host
            # The clocks of two hosts differ by one number in the whole run.
            offset = int(graph.ts[event] - graph.ts[first] - flows.begin_ns[at][place])
            assert offsets.setdefault(hosts, offset) == offset >= 0 and (offset == 0 or hosts[0] != hosts[1])
            kind, which = found[event]
            if kind == "call":
                call = graph.calls.find(which)
                mine = [getattr(flows, name)[at][place] for name in ("total_ns", "self_ns", "waiting_ns")]
                theirs = [getattr(graph.calls, name)[call] for name in ("total_ns", "self_ns", "waiting_ns")]
                assert mine == theirs
                end = int(graph.calls.exit[call])
                assert flows.failed[at][place] == (end >= 0 and graph.kind[end] == Kind.UNWIND)
            else:
                last = int(graph.regions.last[which])
                assert flows.total_ns[at][place] == graph.ts[last] - graph.ts[event]
                assert flows.self_ns[at][place] + flows.waiting_ns[at][place] <= flows.total_ns[at][place]
        here = (flows.log_call >= at.start) & (flows.log_call < at.stop)
        told = sorted(zip(flows.event[flows.log_call[here]].tolist(), flows.log_event[here].tolist(), strict=True))
        assert told == sorted((event, row) for event, frame in found.items() for row in logs[frame])
        errors = sum(graph.key(row) >= 40 for _, row in told) + int(flows.failed[at].sum())
        assert flows.errors[number] == errors
        siblings = defaultdict(list)
        for label, parent in zip(flows.label[at].tolist(), flows.parent[at].tolist(), strict=True):
            siblings[parent].append(flows.labels[label])
        assert all(names == sorted(names) for names in siblings.values())
        shapes[flows.category[number]].add((flows.names[flows.name[number]], tree(flows, number)))
    # As many categories as there are different trees.
    assert all(len(kinds) == 1 for kinds in shapes.values())
    assert len(set().union(*shapes.values())) == len(flows.categories) == len(shapes)
    assert (np.diff(flows.log_call) >= 0).all()


def test_flow_is_depth_first_with_children_by_name(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("serve").request("Get").enter("store").exit("store").send(1, "queue").enter("load")
    main.enter("parse").exit("parse").exit("load")
    worker.receive(1, "queue").enter("index").exit("index")
    main.exit("serve")
    flows = flows_in(run)
    assert written(flows) == ["serve", "  index (queue)", "  load", "    parse", "  store"]
    assert flows.pairs(0)[2] == ("app:load", "app:parse")
    assert flows.text(0) == "app:serve>app:index app:serve>app:load app:load>app:parse app:serve>app:store"


def test_flow_has_times_of_calls_and_delays_of_edges(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("serve", at=100).request("Get", at=100).send(1, at=110)
    worker.receive(1, at=140).enter("first", at=150).exit("first", at=250).enter("second", at=270).send("back", at=290)
    worker.exit("second", at=300)
    main.log("waits", at=295).join("back", at=330).exit("serve", at=400)
    flows = flows_in(run)
    assert written(flows) == ["serve", "  first (message)", "  second (message)"]
    assert flows.response_ns.tolist() == [300]
    assert flows.begin_ns.tolist() == [0, 50, 170] and flows.total_ns.tolist() == [300, 100, 30]
    # The second waited for the first, and the answer for the 35 ns without any other work.
    assert flows.delay_ns.tolist() == [0, 40, 20 + 35]


def test_flow_of_request_without_calls_is_its_strand(run):
    thread = run.process().thread("pump_3")
    thread.request("Tick").log("x").log("y", at=500)
    flows = flows_in(run)
    assert flows.pairs(0) == (("thread pump", "thread pump"),)
    assert flows.response_ns.tolist() == flows.total_ns.tolist() and flows.response_ns[0] > 0
    assert flows.self_ns.tolist() == flows.total_ns.tolist()


def test_flow_includes_worker_that_handles_items_in_one_call(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    worker.enter("work")
    for number in range(2):
        main.enter("serve").request("Put").send(number, "queue").exit("serve")
        worker.receive(number, "queue").enter("save").exit("save").log("done")
    worker.exit("work")
    flows = flows_in(run)
    assert [written(flows, number) for number in range(2)] == [["serve", "  work (queue)", "    save"]] * 2
    assert flows.category.tolist() == [0, 0]


def test_flow_of_batch_with_several_causes_belongs_to_the_first(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    for number in range(2):
        main.enter("serve").request("Put").send(number).exit("serve")
    worker.receive(0).receive(1).enter("save").exit("save")
    flows = flows_in(run)
    assert [written(flows, number) for number in range(2)] == [["serve", "  save (message)"], ["serve"]]
    assert [key.name for key in flows.categories] == ["Put", "Put"]


def test_flow_of_nested_request_is_also_part_of_outer_flow(run):
    thread = run.process().thread()
    thread.enter("serve").request("Outer").enter("inner").request("Inner").enter("f").exit("f").exit("inner").exit(
        "serve"
    )
    flows = flows_in(run)
    assert [written(flows, number) for number in range(2)] == [["serve", "  inner", "    f"], ["inner", "  f"]]
    assert [flows.names[name] for name in flows.name] == ["Outer", "Inner"]


def test_flow_of_handled_message_is_part_of_senders_flow(run):
    process = run.process()
    main, worker = process.thread(), process.thread("worker")
    main.enter("client", at=100).request("Ask", at=100).send(1, "http", at=110)
    worker.receive(1, "http", at=150).enter("handle", at=160).request("Get", at=160).enter("f").exit("f")
    worker.send("back", "http", at=200).exit("handle", at=210)
    main.join("back", "http", at=260).exit("client", at=300)
    flows = flows_in(run)
    assert [written(flows, number) for number in range(2)] == [
        ["client", "  handle (http)", "    f"],
        ["handle (http)", "  f"],
    ]
    assert flows.delay_ns[:3].tolist() == [0, 50 + 60, 0]


def test_flow_of_recursive_unfinished_calls_has_all_levels(run):
    thread = run.process().thread()
    thread.enter("serve").request("Get").enter("f").enter("f").enter("f").log("killed")
    flows = flows_in(run)
    assert written(flows) == ["serve", "  f", "    f", "      f"]
    assert flows.response_ns[0] == flows.total_ns[0] > flows.total_ns[3]


def test_flows_at_coarser_level_merge_calls_of_one_label(run):
    process, other = run.process("web"), run.process("db")
    main, worker = process.thread(), other.thread()
    main.enter("web:serve").request("Get").enter("web:f").enter("lib:g").exit("lib:g").exit("web:f").send(1)
    worker.receive(1).enter("db:query").enter("db:read").exit("db:read").exit("db:query")
    main.exit("web:serve")
    opened = open_run(run.write())
    modules = opened.requests.flows("module")
    assert written(modules) == ["web", "  db (message)", "  lib"]
    whole = opened.requests.flows()
    assert modules.self_ns.sum() == whole.self_ns.sum()
    assert modules.total_ns.tolist()[0] == whole.total_ns.tolist()[0]
    assert written(opened.requests.flows("process")) == ["web", "  db (message)"]
    by_hand = opened.requests.flows(lambda event: event.function.rpartition(":")[0])
    assert written(by_hand) == written(modules)
    assert opened.requests.categories("process").count() == 1


def test_flows_coalesce_counts_repeated_calls_as_one(run):
    thread = run.process().thread()
    for many in (1, 2, 5):
        thread.enter("serve").request("Get")
        for _ in range(many):
            thread.enter("row").enter("cell").exit("cell").unwind("row")
        thread.exit("serve")
    opened = open_run(run.write())
    assert len(opened.requests.flows().categories) == 3
    flows = opened.requests.flows(coalesce=True)
    assert flows.category.tolist() == [0, 1, 1]
    assert flows.text(1) == flows.text(2) == "app:serve>app:row xN app:row xN>app:cell xN"
    assert flows.repeats.tolist() == [1, 1, 1, 1, 2, 2, 1, 5, 5]
    whole = opened.requests.flows()
    assert flows.self_ns.sum() == whole.self_ns.sum() and flows.errors.tolist() == [1, 2, 5]


def test_flow_logs_have_their_call_and_template(run):
    thread = run.process().thread()
    thread.enter("serve").request("Get").log("chunk 17 read").enter("f").log("no space left on 3", level=40).exit("f")
    thread.exit("serve")
    flows = flows_in(run)
    assert flows.log_call.tolist() == [0, 1]
    assert [flows.templates[code] for code in flows.log_template] == [f"chunk {SLOT} read", f"no space left on {SLOT}"]
    assert flows.log_level.tolist() == [20, 40] and flows.errors.tolist() == [1]


def test_flows_take_and_concat_keep_every_flow(new_run):
    runs = [random_run(new_run, seed) for seed in (100, 101, 102)]
    flows = Flows.of(runs)
    parts = [Flows.of(run) for run in runs]
    assert len(flows) == sum(map(len, parts)) and flows.run.tolist() == [
        number for number, part in enumerate(parts) for _ in range(len(part))
    ]
    chance = np.random.default_rng(1)
    chosen = chance.random(len(flows)) < 0.5
    both = concat(flows.take(chosen), flows.take(~chosen))
    order = np.concatenate((np.flatnonzero(chosen), np.flatnonzero(~chosen)))
    for place, number in enumerate(order.tolist()):
        part, inside = parts[flows.run[number]], number - int(np.searchsorted(flows.run, flows.run[number]))
        for one, at in ((flows, number), (both, place)):
            assert one.text(at) == part.text(inside) and one.response_ns[at] == part.response_ns[inside]
            assert one.categories[one.category[at]] == part.categories[part.category[inside]]
            mine, theirs = one.places(at), part.places(inside)
            for column in one.matrix_columns:
                if column not in ("label", "channel", "instance"):
                    assert getattr(one, column)[mine].tolist() == getattr(part, column)[theirs].tolist()
            logs = [
                sorted(
                    (of.templates[of.log_template[log]], int(of.log_call[log]) - where.start)
                    for log in np.flatnonzero((of.log_call >= where.start) & (of.log_call < where.stop))
                )
                for of, where in ((one, mine), (part, theirs))
            ]
            assert logs[0] == logs[1]
    for category in range(len(flows.categories)):
        members = flows.members(category)
        labels = flows.matrix("label", members)
        assert (labels == labels[0]).all() and (
            flows.matrix("parent", members) == flows.matrix("parent", members)[0]
        ).all()


def test_flows_of_large_stored_run_are_equal_and_cache_no_columns(new_run, monkeypatch):
    folder = random_run(new_run, 200).folder
    whole = Flows.of(open_run(folder))
    monkeypatch.setattr("clew.graph.store.lazy_graph.LARGE", 0)
    stored = open_run(folder)
    assert type(stored.graph).__name__ == "StoredGraph"
    flows = Flows.of(stored)
    assert not {"ts", "region", "calls", "call", "site"} & set(vars(stored.graph))
    for column in ("request", "category", "errors", "first", *flows.matrix_columns, "log_call", "log_event"):
        assert getattr(flows, column).tolist() == getattr(whole, column).tolist()
    # The graph still answers queries.
    assert stored.graph.function(int(flows.event[0])) == flows.labels[flows.label[0]]


def test_flows_filter_by_name_and_condition(run):
    thread = run.process().thread()
    for name in ("Get", "Put", "Get"):
        thread.enter("serve").request(name).exit("serve")
    opened = open_run(run.write())
    assert len(Flows.of(opened, names=["Get"])) == 2 and len(Flows.of(opened, names="Put")) == 1
    assert len(Flows.of(opened, names=["Post"])) == 0
    assert Flows.of(opened, where=lambda event: event.id > 4).request.tolist() == [7]
    assert opened.requests.named("Get").flows().request.tolist() == [1, 7]


def test_flows_without_runs_or_requests_are_empty(run):
    run.process().thread().enter("f").exit("f")
    none = flows_in(run)
    assert len(none) == len(concat()) == len(concat(none, none)) == 0
    assert none.categories == () and none.first.tolist() == [0]


@given(st.integers(1, 12).flatmap(lambda size: st.lists(st.integers(-1, size - 1), min_size=size, max_size=size)))
def test_in_circles_marks_regions_that_return_to_themselves(above):
    def returns(region):
        at = region
        for _ in above:
            at = above[at]
            if at < 0 or at == region:
                return at == region
        return False

    assert _in_cycles(np.array(above, np.int64)).tolist() == [region for region in range(len(above)) if returns(region)]


def test_flows_regions_that_opened_each_other_are_left_out(run):
    """Files whose clocks disagree may contain such regions."""
    process = run.process()
    one, other = process.thread(), process.thread("other")
    other.send("first")
    one.enter("f").request("Get").receive("first").send("back").exit("f")
    other.receive("back").enter("g").send("forth").exit("g")
    folder = run.write()
    graph = build(folder)[0]
    assert written(Flows.of(Run(graph.info, folder, [], graph))) == ["f", "  g (message)"]
    forth = max(graph.rows_of([Kind.SEND]).tolist())
    into_f = graph.region[graph.edge_dst] == graph.region[graph.rows_of([Kind.REQUEST])[0]]
    graph = replace(graph, edge_src=np.where(into_f, forth, graph.edge_src))
    assert written(Flows.of(Run(graph.info, folder, [], graph))) == ["f"]
