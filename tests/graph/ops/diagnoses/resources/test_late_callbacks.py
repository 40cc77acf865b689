"""Callbacks and tasks that a long step made late: the finding is about them, not about the loop's thread from then on."""

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


def test_task_that_was_made_ready_is_late_however_late_the_loop_ran_it(run):
    thread = run.process().thread()
    thread.step("refill", at=100 * MS).enter("refill").send(1, HANDLE, at=110 * MS).send(2, HANDLE, at=120 * MS)
    thread.exit("refill", at=298 * MS).stop("refill", at=300 * MS)
    thread.step("poll", at=309 * MS).join(1, HANDLE).stop("poll", at=310 * MS)
    thread.begin(2, at=320 * MS).end(at=321 * MS)
    graph = run.graph()
    ((victim,),) = [found.victims for found in find(Facts.of(graph))]
    assert graph.strands[victim.strand].name == "poll"  # the callback may be one of a timer
