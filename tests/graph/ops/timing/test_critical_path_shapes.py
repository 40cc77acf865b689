"""Compare critical paths of typical program shapes with hand-computed values."""

from clew.graph.ops.slicing.interval import slice_events
from clew.graph.ops.timing.critical_path import critical_path


def path_to(graph, strand, level="function"):
    return critical_path(graph, slice_events(graph, [graph.strands[strand].stop - 1]), level)


def table(path):
    """Return label, start, end, self time, waiting time and slack of each segment."""
    assert sum(s.self_ns + s.wait_ns for s in path.segments) == path.total_ns
    return [(s.label.removeprefix("app:"), s.start, s.end, s.self_ns, s.wait_ns, s.slack_ns) for s in path.segments]


def branches_of(path):
    return sorted((branch.label.removeprefix("app:"), branch.end, branch.slack_ns) for branch in path.branches())


def saved(path, label, percent):
    return path.what_if(f"app:{label}", percent).saved_ns


def test_critical_path_of_three_joins_follows_last_and_others_have_slack(run):
    process = run.process()
    main, one, two, three = (process.thread(name) for name in ("MainThread", "one", "two", "three"))
    main.enter("main", at=0).send("a", at=10).send("b", at=20).send("c", at=30)
    one.join("a", at=12).enter("f", at=15).exit("f", at=215).send("A", at=220)
    two.join("b", at=25).enter("g", at=30).exit("g", at=530).send("B", at=540)
    three.join("c", at=35).enter("h", at=40).exit("h", at=340).send("C", at=350)
    main.log("waits", at=100).join("A", at=545).join("B", at=550).join("C", at=555).exit("main", at=600)
    path = path_to(run.graph(), 0)
    assert table(path) == [("main", 0, 20, 20, 0, 0), ("g", 20, 540, 515, 5, 190), ("main", 540, 600, 50, 10, 0)]
    assert branches_of(path) == [("f", 220, 320), ("h", 350, 190), ("main", 100, 440)]
    # Up to 190; beyond that, main waits for h.
    assert (saved(path, "g", 20), saved(path, "g", 100)) == (103, 190)
    assert (saved(path, "f", 100), saved(path, "h", 100)) == (0, 0)


def test_critical_path_includes_retry_and_timeout_before_it(run):
    client, server = run.process("client").thread(), run.process("server").thread()
    client.enter("ask", at=0).send(1, at=10).log("timed out", at=1010).send(2, at=1020)
    server.enter("serve", at=0).receive(1, at=20).log("dropped", at=30)
    server.receive(2, at=1030).log("done", at=1440).send("reply", at=1450)
    client.join("reply", at=1500).exit("ask", at=1510)
    path = path_to(run.graph(), 0)
    assert table(path) == [
        ("ask", 0, 1020, 1020, 0, 990), ("serve", 1020, 1450, 420, 10, 430), ("ask", 1450, 1510, 10, 50, 0),
    ]  # fmt: skip
    assert saved(path, "ask", 50) == 510 + 5
    assert saved(path, "serve", 50) == 210


def test_critical_path_of_batch_follows_its_last_item(run):
    process = run.process()
    one, two, consumer = (process.thread(name) for name in ("one", "two", "consumer"))
    one.enter("make_x", at=0).send("x", at=100)
    two.enter("make_y", at=0).send("y", at=300)
    consumer.enter("consume", at=0).receive("x", at=310).receive("y", at=320).log("both", at=800)
    path = path_to(run.graph(), 2)
    assert table(path) == [("make_y", 0, 300, 300, 0, 200), ("consume", 300, 800, 480, 20, 0)]
    assert branches_of(path) == [("consume", 0, 300), ("make_x", 100, 200)]
    assert (saved(path, "make_y", 50), saved(path, "make_y", 100), saved(path, "make_x", 100)) == (150, 200, 0)


def test_critical_path_of_gather_follows_last_task_through_its_pauses(run):
    thread = run.process().thread()
    thread.step("m", at=0).enter("m", at=5).send("ta", at=10).send("tb", at=20).suspend("m", at=30).stop("m", at=40)
    thread.step("a", at=50).join("ta", at=52).enter("a", at=55).suspend("a", at=60).stop("a", at=65)
    thread.step("b", at=70).join("tb", at=72).enter("b", at=75).exit("b", at=275).send("b done", at=280).stop(
        "b", at=290
    )
    thread.step("a", at=300).resume("a", at=310).exit("a", at=400).send("a done", at=405).stop("a", at=410)
    thread.step("m", at=420).join("a done", at=425).join("b done", at=430).resume("m", at=440).exit("m", at=500)
    thread.stop("m", at=510)
    graph = run.graph()
    (number,) = (strand.index for strand in graph.strands if strand.name == "m")
    path = path_to(graph, number)
    assert [row[:3] for row in table(path)] == [("m", 0, 10), ("a", 10, 405), ("m", 405, 510)]
    # a works from 52 to 65 and from 300 to 405; no record explains its sleep in between.
    assert table(path)[1][3:] == (13 + 105, 42 + 235, 405 - 280)
    assert saved(path, "a", 100) >= 105


def test_critical_path_of_process_pool_follows_slower_worker(run):
    main, one, two = (run.process(name).thread() for name in ("main", "w1", "w2"))
    main.enter("main", at=0).send("j1", at=10).send("j2", at=20)
    one.enter("loop", at=0).receive("j1", at=30).enter("work", at=40).exit("work", at=440).send("r1", at=450)
    two.enter("loop", at=0).receive("j2", at=40).enter("work", at=50).exit("work", at=950).send("r2", at=960)
    main.log("waits", at=100).join("r1", at=500).join("r2", at=1000).exit("main", at=1100)
    path = path_to(run.graph(), 0)
    assert table(path.project("process")) == [
        ("main", 0, 20, 20, 0, 20),
        ("w2", 20, 960, 920, 20, 510),
        ("main", 960, 1100, 100, 40, 0),
    ]
    assert table(path) == [
        ("main", 0, 20, 20, 0, 20), ("loop", 20, 50, 10, 20, 0), ("work", 50, 950, 900, 0, 0),
        ("loop", 950, 960, 10, 0, 510), ("main", 960, 1100, 100, 40, 0),
    ]  # fmt: skip
    # Both workers are faster, and main still waits from 100 on. As before, it then takes 50 for the first reply
    # and 40 for the second.
    assert saved(path, "work", 50) == 450
    assert saved(path, "work", 100) == 1000 - (100 + 50 + 40)
    # If only the second worker is faster, main waits for the first one's reply, which it joined at 500.
    assert path.project("process").what_if("w2", 100).saved_ns == 1000 - (500 + 40)


def test_critical_path_of_request_includes_second_server(run):
    client, front, back = (run.process(name).thread() for name in ("client", "front", "back"))
    client.enter("ask", at=0).send("q", at=10)
    front.enter("front", at=0).receive("q", at=20).send("q2", at=100)
    back.enter("back", at=0).receive("q2", at=150).send("a2", at=700)
    front.join("a2", at=800).log("thinks", at=850).send("a", at=900)
    client.join("a", at=1000).exit("ask", at=1010)
    path = path_to(run.graph(), 0)
    assert table(path) == [
        ("ask", 0, 10, 10, 0, 10), ("front", 10, 100, 80, 10, 100), ("back", 100, 700, 550, 50, 600),
        ("front", 700, 900, 100, 100, 890), ("ask", 900, 1010, 10, 100, 0),
    ]  # fmt: skip
    assert (saved(path, "front", 50), saved(path, "back", 10), saved(path, "ask", 100)) == (90, 55, 20)


def test_critical_path_of_two_parallel_rounds_follows_last_of_each(run):
    process = run.process()
    main, one, two = (process.thread(name) for name in ("MainThread", "one", "two"))
    main.enter("main", at=0).send("1a", at=10).send("1b", at=20)
    one.join("1a", at=15).enter("f", at=20).exit("f", at=120).send("1A", at=130)
    two.join("1b", at=25).enter("g", at=30).exit("g", at=330).send("1B", at=340)
    main.log("first", at=50).join("1A", at=350).join("1B", at=360)
    main.send("2a", at=370).send("2b", at=380).log("second", at=390)
    one.log("again", at=140).join("2a", at=375).enter("f", at=400).exit("f", at=800).send("2A", at=810)
    two.log("again", at=345).join("2b", at=385).enter("g", at=390).exit("g", at=490).send("2B", at=500)
    main.join("2A", at=820).join("2B", at=830).exit("main", at=900)
    path = path_to(run.graph(), 0, "thread")
    assert [(label.removeprefix("server/"), start, end) for label, start, end, *_ in table(path)] == [
        ("MainThread", 0, 20), ("two", 20, 340), ("MainThread", 340, 370), ("one", 370, 810), ("MainThread", 810, 900),
    ]  # fmt: skip
    assert [(label.removeprefix("server/"), *times) for label, *times in branches_of(path)] == [
        ("MainThread", 50, 290), ("MainThread", 390, 420), ("one", 130, 210), ("one", 140, 230), ("two", 500, 310),
    ]  # fmt: skip
