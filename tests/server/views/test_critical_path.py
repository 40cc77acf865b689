"""The critical path view shows, besides the path, causes of waits, slack, near branches and what-if."""

import json

import pytest

from clew.graph.ops.timing.call_path import request_spans
from clew.records.errors import ClewError
from clew.server import handlers
from clew.server.protocol.codec import decode, encode
from clew.server.protocol.registry import METHODS
from clew.server.protocol.shared import Target
from clew.server.protocol.views.critical_path import CriticalPathParams, WhatIfParams
from clew.server.session.session import Cancelled, Task
from clew.server.views import critical_path

AUDIT = Target(text="audit")


def ask(session, method, params, task=None):
    """Return the answer after a round trip through JSON, as every client gets it."""
    data = json.loads(json.dumps(handlers.answer(session, method, encode(params), task)))
    return decode(METHODS[method].result, data)


@pytest.fixture
def path(session):
    return ask(session, "clew/criticalPath", CriticalPathParams(AUDIT, run="before"))


def test_critical_path_wait_names_its_reason_and_its_end(path):
    waits = {segment.waitFor for segment in path.segments if segment.waitNs}
    # The sweeper is started and joined, then a process is started for the audit.
    assert {"start of a thread", "join of a thread", "start of a child process"} <= waits
    joined = next(segment for segment in path.segments if segment.waitFor == "join of a thread")
    assert joined.label == "shop.app:main" and joined.waitWhy.startswith("ended by ")
    assert all(segment.waitFor == "" for segment in path.segments if not segment.waitNs)


def test_critical_path_labels_on_the_path_have_zero_slack(session, path):
    beside = {slack.label: slack for slack in path.beside}
    on_path = {segment.label for segment in path.segments if segment.selfNs}
    assert on_path <= set(beside) and all(beside[label].slackNs == 0 for label in on_path)
    assert all(
        beside[segment.label].workNs >= segment.selfNs * (1 - 1e-9) for segment in path.segments if segment.selfNs
    )
    told = [slack.slackNs for slack in path.beside if slack.slackNs is not None]
    assert told == sorted(told) and path.hiddenBeside == 0
    assert beside["shop.stock:Stock.lookup"].location.path.endswith("stock.py")


def test_request_has_one_path_and_one_response_time_in_every_door(session):
    run = session.open("before", Task())
    flows = run.requests.flows()
    for request, response_ns in zip(flows.request.tolist(), flows.response_ns.tolist(), strict=True):
        queried = run.requests.where(id=request).slice().aggregate("function").critical_path()
        end = run.graph.exit_of(run.graph.call_of(request))
        assert queried.total_ns == response_ns == sum(segment.self_ns + segment.wait_ns for segment in queried)
        for event in (request, end):
            shown = ask(session, "clew/criticalPath", CriticalPathParams(Target(event=event), run="before"))
            assert shown.totalNs == response_ns
            assert [(segment.label, segment.startNs, segment.selfNs, segment.waitNs) for segment in shown.segments] == [
                (segment.label, segment.start, segment.self_ns, segment.wait_ns) for segment in queried
            ]
            assert len({branch.event for branch in shown.branches}) == len(shown.branches)


def test_path_to_an_event_inside_a_request_begins_with_the_request(session):
    run = session.open("before", Task())
    failed = ask(session, "clew/criticalPath", CriticalPathParams(Target(text="Order failed"), run="before"))
    begins = run.graph.ts[request_spans(run.graph, run.requests.flows().request).begin].tolist()
    assert failed.segments[0].startNs in begins
    assert failed.title.endswith(" since request order began")


def test_critical_path_branches_are_sorted_by_slack(path):
    slacks = [branch.slackNs for branch in path.branches]
    assert slacks == sorted(slacks) and path.hiddenBranches == 0
    assert all(branch.endNs <= branch.joinedNs for branch in path.branches)


def test_what_if_saves_no_more_than_the_work_of_the_function(session, path):
    label = max((segment for segment in path.segments if segment.nodeId), key=lambda segment: segment.selfNs).label
    saved = [
        ask(session, "clew/whatIf", WhatIfParams(AUDIT, label, percent, run="before")) for percent in (0.0, 50.0, 100.0)
    ]
    assert saved[0].savedNs == 0
    assert 0 < saved[1].savedNs <= saved[2].savedNs <= saved[2].workNs
    assert all(one.totalNs == path.totalNs == one.afterNs + one.savedNs for one in saved)


def test_what_if_repeated_for_one_target_reuses_the_path(session, monkeypatch):
    first = ask(session, "clew/whatIf", WhatIfParams(AUDIT, "shop.app:main", 10.0, run="before"))
    for name in ("critical_path", "path_of_call"):
        monkeypatch.setattr(critical_path, name, None)
    second = ask(session, "clew/whatIf", WhatIfParams(AUDIT, "shop.app:main", 20.0, run="before"))
    assert second.totalNs == first.totalNs
    with pytest.raises(TypeError):
        ask(session, "clew/whatIf", WhatIfParams(Target(text="Order failed"), "shop.app:main", 20.0, run="before"))


def test_what_if_unknown_label_or_percent_is_refused(session):
    with pytest.raises(ClewError, match=r"did you mean 'shop.app:main'\?"):
        ask(session, "clew/whatIf", WhatIfParams(AUDIT, "shop.app:mein", 10.0, run="before"))
    with pytest.raises(ClewError, match="at most 100"):
        ask(session, "clew/whatIf", WhatIfParams(AUDIT, "shop.app:main", 101.0, run="before"))


def test_what_if_that_is_cancelled_raises_cancelled(session):
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        ask(session, "clew/whatIf", WhatIfParams(AUDIT, "shop.app:main", 10.0, run="before"), task)
