"""Questions to the columns of a graph: rows by kind and channel, and the calls around a call."""

from clew.records.format.event import Kind


def test_with_callers_yields_call_then_callers_from_inner_to_outer(run):
    run.process().thread().enter("a").enter("b").log("x").enter("c")
    graph = run.graph()
    assert list(graph.with_callers(3)) == [3, 1, 0]
    assert list(graph.with_callers(graph.enclosing_call(2))) == [1, 0]
    assert list(graph.with_callers(graph.enclosing_call(0))) == []


def test_rows_of_kind_and_channel(run):
    run.process().thread().send("a", channel="thread.start").enter("f").send("b", channel="queue").join(
        "c", channel="queue"
    )
    graph = run.graph()
    assert graph.rows_of([Kind.SEND]).tolist() == [0, 2]
    assert graph.rows_of([Kind.SEND], "queue").tolist() == [2]
    assert graph.rows_of([Kind.SEND, Kind.JOIN], "queue").tolist() == [2, 3]
    assert graph.rows_of([Kind.ENTER], "queue").tolist() == []
    assert graph.rows_of([Kind.SEND], "unknown").tolist() == []
