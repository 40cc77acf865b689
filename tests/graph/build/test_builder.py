from clew.graph.build.builder import build
from clew.graph.store.store import open_graph
from clew.records.format.event import EdgeKind, Kind
from clew.records.run.directory import load_run, save_run


def kinds(graph, strand):
    info = graph.strands[strand]
    return [Kind(int(kind)).name for kind in graph.kind[info.start : info.stop]]


def edges(graph):
    return [
        (int(src), int(dst), EdgeKind(int(kind)).name, graph.strings[int(channel)])
        for src, dst, kind, channel in zip(
            graph.edge_src, graph.edge_dst, graph.edge_kind, graph.edge_channel, strict=True
        )
    ]


def test_build_message_between_processes_is_a_use_edge(run):
    client, server = run.process("client").thread(), run.process("server").thread()
    client.enter("client:write").send(1)
    server.receive(1).enter("server:on_write").exit("server:on_write")
    client.exit("client:write")
    graph = run.graph()
    assert [process.name for process in graph.processes] == ["client", "server"]
    assert kinds(graph, 0) == ["ENTER", "SEND", "EXIT"]
    assert edges(graph) == [(1, 3, "USE", "message")]
    assert graph.function(1) == "client:write"
    assert graph.function(4) == "server:on_write"
    assert graph.function(3) == ""
    assert graph.key_text(3) == "1"
    assert graph.ts.tolist() == [10, 20, 60, 30, 40, 50]


def test_build_tasks_of_one_thread_are_separate_strands(run):
    thread = run.process().thread()
    thread.enter("main")
    thread.step("one").enter("a").suspend("a").stop("one")
    thread.step("two").enter("b").suspend("b").stop("two")
    thread.step("one").resume("a").exit("a").stop("one")
    thread.exit("main")
    graph = run.graph()
    assert [(strand.kind, strand.name) for strand in graph.strands] == [
        ("thread", "MainThread"),
        ("task", "one"),
        ("task", "two"),
    ]
    assert kinds(graph, 0) == ["ENTER", "EXIT"]
    assert kinds(graph, 1) == ["STEP_BEGIN", "ENTER", "SUSPEND", "STEP_END", "STEP_BEGIN", "RESUME", "EXIT", "STEP_END"]
    one = graph.strands[1].start
    assert graph.exit_of(one + 1) == one + 6
    assert graph.call_of(one + 5) == one + 1
    assert graph.enclosing_call(one + 1) == -1


def test_build_nested_steps_are_separate_strands(run):
    thread = run.process().thread()
    thread.step("outer").enter("a").step("inner").enter("b").exit("b").stop("inner").exit("a").stop("outer")
    graph = run.graph()
    assert kinds(graph, 1) == ["STEP_BEGIN", "ENTER", "EXIT", "STEP_END"]
    assert kinds(graph, 2) == ["STEP_BEGIN", "ENTER", "EXIT", "STEP_END"]


def test_build_unended_step_is_closed_by_end_of_outer_step(run):
    thread = run.process().thread()
    thread.step("outer").step("inner").enter("b").stop("outer").enter("main").exit("main")
    graph = run.graph()
    assert kinds(graph, 0) == ["ENTER", "EXIT"]
    assert kinds(graph, 1) == ["STEP_BEGIN"]
    # The outer step's end was recorded while the inner step was open.
    assert kinds(graph, 2) == ["STEP_BEGIN", "ENTER", "STEP_END"]


def test_build_step_end_without_beginning_is_counted(run):
    run.process().thread().enter("f").stop("gone").exit("f")
    graph, problems = build(run.write())
    assert len(graph) == 3
    assert any("1 ends of task steps have no matching beginning" in problem.what for problem in problems)


def test_build_equal_sites_and_strings_of_processes_share_numbers(run):
    for name in ("one", "two"):
        run.process(name).thread().enter("lib:f").send(name, channel="jobs").exit("lib:f")
    graph = run.graph()
    assert graph.site[0] == graph.site[3] != 0
    assert graph.channel(1) == graph.channel(4) == "jobs"
    assert [site.label for site in graph.sites[1:]] == ["lib:f"]


def test_build_target_is_joined_to_last_earlier_source_of_its_key(run):
    a = run.process().thread()
    a.define("x").define("x").use("x").define("x")
    assert [(src, dst) for src, dst, _, _ in edges(run.graph())] == [(1, 2)]


def test_build_target_prefers_source_of_the_same_process(run):
    a, b = run.process("a").thread(), run.process("b").thread()
    a.define("x")
    b.define("x")
    a.use("x")
    graph = run.graph()
    assert [(src, dst) for src, dst, _, _ in edges(graph)] == [(0, 1)]


def test_build_reply_with_key_of_its_request_is_joined_to_replier(run):
    client, server = run.process("client").thread(), run.process("server").thread()
    client.send(17)
    server.receive(17).send(17)
    client.receive(17)
    client.send(17)
    server.receive(17)
    graph = run.graph()
    # Rows: the client's send, receive, send are 0 to 2, the server's receive, send, receive 3 to 5.
    assert sorted((src, dst) for src, dst, _, _ in edges(graph)) == [(0, 3), (2, 5), (4, 1)]


def test_build_use_across_processes_is_joined_by_key(run):
    a, b = run.process("a").thread(), run.process("b").thread()
    a.define("chunk-1")
    b.use("chunk-1")
    assert [(src, dst, kind) for src, dst, kind, _ in edges(run.graph())] == [(0, 1, "STATE")]


def test_build_lock_joins_release_to_acquire_only(run):
    process = run.process()
    a, b = process.thread(), process.thread("other")
    a.put(Kind.RELEASE, key=5, channel="lock")
    b.put(Kind.RECEIVE, key=5, channel="lock").put(Kind.ACQUIRE, key=5, channel="lock")
    graph, problems = build(run.write())
    assert edges(graph) == [(0, 2, "SYNC", "lock")]
    assert any("1 receive event has no matching send" in problem.what for problem in problems)


def test_build_unmatched_targets_are_counted_in_one_problem(run):
    thread = run.process().thread()
    for number in range(30):
        thread.receive(number)
    _, problems = build(run.write())
    assert [problem.what for problem in problems] == [
        "30 receive events have no matching send; their causal edges are missing"
    ]


def test_build_killed_process_is_reported(run):
    from clew.records.format.header import State

    run.process("victim", state=State.RECORDING).thread().enter("f")
    graph, problems = build(run.write())
    assert graph.processes[0].died and graph.processes[0].end == "died"
    assert any("process 100 (victim) died while it was recorded" in problem.what for problem in problems)


def test_build_process_that_called_exec_is_not_reported_as_died(run):
    from clew.records.format.header import State

    run.process("first", state=State.RECORDING).thread().enter("f")
    run.process("second").thread().enter("g").exit("g")
    folder = run.write()
    first, second = sorted(folder.glob("*.clew"))
    data = bytearray(second.read_bytes())
    data[16:20] = first.read_bytes()[16:20]
    second.write_bytes(data)
    graph, problems = build(folder)
    assert [process.pid for process in graph.processes] == [100, 100]
    assert [(process.died, process.end) for process in graph.processes] == [(False, "went on"), (False, "closed")]
    assert not any("died" in problem.what for problem in problems)


def test_build_of_run_without_traces_reports_the_reason(run):
    graph, problems = build(run.write())
    assert len(graph) == 0 and len(graph.regions) == 0
    assert "`python app.py` started no Python that clew could trace" in problems[-1].what


def test_build_of_run_without_traces_reports_notes_of_recording(run):
    folder = run.write()
    save_run(
        folder, load_run(folder)._replace(notes=["no Python process was recorded: /bin/true is no Python program"])
    )
    _, problems = build(folder)
    assert problems[-1].what == "no Python process was recorded: /bin/true is no Python program"
    open_graph(folder)
    assert not any("trace files are missing" in problem.what for problem in open_graph(folder)[1]), (
        "the run never had trace files"
    )


def test_build_thread_of_many_chunks_has_all_calls(run):
    thread = run.process().thread()
    for number in range(6000):
        thread.enter("f").send(number).exit("f")
    graph = run.graph()
    assert len(graph) == 18000
    assert len(graph.calls.enter) == 6000
    assert graph.text(3 * 5999 + 1) == "5999"
    assert (graph.calls.total_ns == 20).all()


def test_build_log_keeps_text_level_logger_and_line(run):
    run.process().thread().log("Write request failed: ünïcode", level=40, function="app:f", line=12)
    graph = run.graph()
    event = graph.event(0)
    assert (event.text, event.level, event.channel, event.line) == ("Write request failed: ünïcode", "ERROR", "app", 12)


def test_build_counted_calls_belong_to_their_site(run):
    process = run.process()
    process.counters["hot:f"] = 0
    process.site("hot:f")
    process.counters["hot:f"] = 1234
    process.thread().enter("cold:g")
    graph = run.graph()
    assert {graph.sites[site].label: count for site, count in graph.counted.items()} == {"hot:f": 1234}


def test_build_gap_is_an_event_with_its_reason(run):
    thread = run.process().thread()
    thread.enter("f").put(
        Kind.GAP, thread.process.site("g"), key=120, text="g is too hot for the budget: counted from here on"
    )
    thread.exit("f")
    graph = run.graph()
    assert (graph.event(1).kind, graph.key(1)) == ("gap", 120)
    assert "counted from here on" in graph.text(1)
    assert graph.exit_of(0) == 2


def test_build_task_run_by_two_threads_is_one_strand_in_time_order(run):
    process = run.process()
    one, two = process.thread("one"), process.thread("two")
    two.step("t", at=100).log("second").stop("t")
    one.step("t", at=10).log("first").stop("t")
    one.step("t", at=300).log("third").stop("t")
    graph = run.graph()
    task = next(strand for strand in graph.strands if strand.name == "t")
    assert [graph.text(row) for row in range(task.start, task.stop) if graph.text(row)] == ["first", "second", "third"]


def test_decode_equals_reading_records_one_by_one(run):
    import random

    from clew.graph.build.decode_records import decode
    from clew.records.read.reader import read_process

    rng = random.Random(3)
    thread = run.process().thread()
    for number in range(3000):
        if rng.random() < 0.5:
            thread.enter(f"f{rng.randrange(5)}")
        else:
            thread.log("x" * rng.choice([0, 1, 15, 16, 17, 200]), level=rng.randrange(1 << 40))
    records = read_process(next(run.write().glob("*.clew")))
    columns = decode(records.threads[1].extents)
    expected = list(records.events(1))
    assert columns.ticks.tolist() == [event.ticks for event in expected]
    assert columns.kind.tolist() == [event.kind for event in expected]
    assert columns.site.tolist() == [event.site for event in expected]
    extended = [event.extension for event in expected if event.extension]
    assert columns.key.tolist() == [extension.key for extension in extended]
    assert columns.channel.tolist() == [extension.channel for extension in extended]
    assert [columns.text(row) for row in range(len(columns))] == [
        e.extension.text if e.extension else "" for e in expected
    ]


def test_build_truncated_file_gives_its_complete_records(run):
    thread = run.process().thread()
    for number in range(9000):
        thread.enter("f").exit("f")
    folder = run.write()
    path = next(folder.glob("*.clew"))
    data = path.read_bytes()
    for size in (len(data) - 65536, len(data) - 100_000, 4096 + 65536 + 1000, 5000, 100, 0):
        path.write_bytes(data[:size])
        graph, problems = build(folder)
        assert problems
        assert len(graph) <= 18000
        assert (graph.calls.total_ns >= 0).all()
