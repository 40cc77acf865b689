from clew.graph.ops.answer.activity import doing_at
from clew.graph.ops.facts.facts import Facts
from clew.records.format.event import Kind
from clew.records.format.facts import Frame, Wait, Wake

AT = (Frame("/src/app.py", 12, "load"),)


def told(run, ns):
    found = doing_at(Facts.of(run.graph()), 0, ns, ns)
    return found and found.text


def test_doing_of_a_waiting_thread_is_its_wait(run):
    thread = run.process("app").thread("worker").enter("load", at=1_000_000)
    thread.fact(Kind.WAIT, 5, "lock", Wait(at=AT), at=2_000_000).fact(Kind.WAKE, 5, "lock", Wake(), at=9_000_000)
    thread.exit("load", at=10_000_000)
    assert told(run, 5_000_000) == "had waited 3 ms for a lock (load, app.py:12)"


def test_doing_of_a_running_thread_is_its_innermost_call(run):
    thread = run.process("app").thread("worker").enter("load", at=1_000_000).enter("parse", at=2_000_000)
    thread.exit("parse", at=8_000_000).exit("load", at=9_000_000)
    assert told(run, 5_000_000).startswith("was in parse, app.py:")


def test_doing_before_the_first_call_is_unknown(run):
    run.process("app").thread("worker").enter("load", at=1_000_000).exit("load", at=2_000_000)
    assert told(run, 500_000) is None
