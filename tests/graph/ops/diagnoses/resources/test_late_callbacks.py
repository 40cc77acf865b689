"""A callback that a long step made late: the finding is about that callback, not about the loop's thread from then on."""

from clew.graph.ops.answer.answer import answer
from clew.graph.ops.diagnoses.resources.loop_blocked import find
from clew.graph.ops.facts.facts import Facts
from clew.graph.ops.facts.loop_steps import HANDLE
from clew.records.format.event import Kind

MS = 1_000_000


def test_victim_of_late_callback_ends_with_the_callback(run):
    thread = run.process().thread()
    thread.step("refill", at=100 * MS).enter("refill").send(1, HANDLE, at=110 * MS)
    thread.exit("refill", at=298 * MS).stop("refill", at=300 * MS)
    thread.begin(1, at=301 * MS).log("late", at=302 * MS).end(at=303 * MS)
    thread.log("much later", level=40, at=900 * MS)
    graph = run.graph()
    ((victim,),) = [found.victims for found in find(Facts.of(graph))]
    late, later = (row for row in graph.rows_of([Kind.LOG]).tolist())
    assert victim.first < late <= victim.last < later


def test_late_callback_is_no_reason_of_a_later_line_of_its_thread(run):
    thread = run.process().thread()
    thread.enter("main").step("refill", at=100 * MS).enter("refill").send(1, HANDLE, at=110 * MS)
    thread.exit("refill", at=298 * MS).stop("refill", at=300 * MS)
    thread.begin(1, at=301 * MS).log("late", level=40, at=302 * MS).end(at=303 * MS)
    thread.log("much later", level=40, at=900 * MS)
    graph = run.graph()
    found = [answer(graph, row, lambda *_: "") for row in graph.rows_of([Kind.LOG]).tolist()]
    assert [one.finding is not None for one in found] == [True, False]
