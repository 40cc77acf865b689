"""Late names of requests: which request a NAME record belongs to, and which of several names wins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.build.call_nesting import nest
from clew.graph.build.regions import split
from clew.graph.build.request_names import rename_requests
from clew.graph.model.graph import Extensions
from clew.records.format.event import FLAG_FAILED, Kind
from tests.oracles.build.regions import by_columns
from tests.support.examples import examples


def names(graph) -> list[str]:
    return [graph.channel(row) for row in graph.rows_of([Kind.REQUEST]).tolist()]


def name(thread, called: str, **more):
    return thread.put(Kind.NAME, channel=called, **more)


def test_late_name_belongs_to_innermost_request_and_the_last_wins(run):
    process = run.process()
    thread, beside = process.thread(), process.thread()
    thread.enter("serve").request("GET")
    name(beside, "of another thread")
    name(thread.enter("route"), "first").exit("route")
    thread.enter("call").request("inner")
    name(thread.enter("route"), "GET /inner").exit("route").exit("call")
    name(thread, "GET /{id}").exit("serve")
    name(thread, "after all of them").enter("serve").request("PUT").exit("serve")
    assert names(run.graph()) == ["GET /{id}", "GET /inner", "PUT"]


def test_late_name_in_scope_or_received_request_names_the_request(run):
    thread = run.process().thread()
    thread.enter("serve").receive(1, "traceparent").request("GET").begin(2)
    name(thread, "GET /a").end().exit("serve")
    thread.enter("serve").receive(3, "traceparent").request("GET").exit("serve")
    assert names(run.graph()) == ["GET /a", "GET"]


def test_late_name_in_call_with_two_requests_names_the_last(run):
    thread = run.process().thread().enter("serve").request("one").request("two")
    name(thread, "route").exit("serve")
    assert names(run.graph()) == ["one", "route"]


def test_late_name_that_failed_or_is_empty_is_ignored(run):
    thread = run.process().thread().enter("serve").request("GET")
    name(thread, "AttributeError", text="AttributeError", flags=FLAG_FAILED)
    name(thread, "", key=1).exit("serve")
    assert names(run.graph()) == ["GET"]


# A call: whether it begins a request, and its content (other calls or names).
calls = st.recursive(
    st.tuples(st.booleans(), st.lists(st.just("name"), max_size=2)),
    lambda inner: st.tuples(st.booleans(), st.lists(inner | st.just("name"), max_size=4)),
    max_leaves=8,
)


@pytest.mark.parametrize("made_by", [split, by_columns])
def test_late_names_equal_those_of_a_request_stack(made_by):
    @settings(max_examples=examples(200), deadline=None)
    @given(st.lists(st.lists(calls, max_size=3), min_size=1, max_size=3))
    def check(strands) -> None:
        kind: list[int] = []
        start = [0]
        expected: dict[int, int] = {}

        def walk(call, stack: list[int]) -> None:
            begins, content = call
            kind.append(Kind.ENTER)
            if begins:
                expected[len(kind)] = len(kind)
                stack = [*stack, len(kind)]
                kind.append(Kind.REQUEST)
            for each in content:
                if each != "name":
                    walk(each, stack)
                    continue
                if stack:
                    expected[stack[-1]] = len(kind)
                kind.append(Kind.NAME)
            kind.append(Kind.EXIT)

        for strand in strands:
            for call in strand:
                walk(call, [])
            start.append(len(kind))
        kinds, rows = np.array(kind, np.uint8), np.arange(len(kind), dtype=np.int32)
        starts = np.array(start, np.int64)
        # Each record's channel is its row plus 1.
        channel = (rows + 1).astype(np.uint32)
        given_ = Extensions(np.zeros(len(rows), np.uint64), channel, np.zeros(len(rows), np.uint16), None)
        # One site: each EXIT ends the innermost call.
        nesting = nest(kinds, np.ones(len(rows), np.uint32), starts)
        region, regions = made_by(kinds, rows, channel, nesting, starts)
        found = rename_requests(kinds, rows, given_, region, regions)
        assert {row: int(found.channel[row]) - 1 for row in expected} == expected
        others = np.array([row not in expected for row in range(len(rows))], bool)
        assert (found.channel[others] == channel[others]).all()
        assert (given_.channel == rows + 1).all()

    check()
