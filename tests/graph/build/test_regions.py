"""Test where scopes begin and end rule by rule, and compare them with a naive walk over all events."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.graph.build.call_nesting import nest
from clew.graph.build.regions import split
from clew.graph.model.graph import RegionKind
from clew.records.format.event import Kind
from tests.support.examples import examples


def regions(graph, strand=0):
    """Return the strand's events as text, with one letter per region in the order of first events."""
    info = graph.strands[strand]
    letters: dict[int, str] = {}
    return "".join(
        letters.setdefault(int(region), chr(ord("a") + len(letters))) for region in graph.region[info.start : info.stop]
    )


def test_region_of_receive_lasts_to_the_end_of_its_call(run):
    run.process().thread().enter("serve").enter("read").exit("read").receive(1).enter("f").exit("f").exit("serve").log(
        "x"
    )
    assert regions(run.graph()) == "aaabbbba"


def test_region_ends_at_next_receive_on_the_same_channel(run):
    thread = run.process().thread()
    thread.enter("serve").receive(1).log("one").receive(2).log("two").receive(3, channel="other").log("three").exit(
        "serve"
    )
    # The other channel's scope is nested: it does not end the second message's.
    assert regions(run.graph()) == "aaabbccc"


def test_region_inside_another_ends_with_the_outer_one(run):
    thread = run.process().thread()
    thread.enter("serve").log("x").receive(1).log("x").receive(2, channel="other").log("x").receive(3).log("x").exit(
        "serve"
    )
    graph = run.graph()
    assert regions(graph) == "aabbccddd"
    assert graph.regions.parent.tolist() == [-1, 0, 1, 0]


def test_region_of_receive_in_inner_call_is_nested(run):
    thread = run.process().thread()
    thread.enter("serve").log("x").receive(1).enter("ask").log("x").receive(2).log("x").exit("ask").log("after").exit(
        "serve"
    )
    assert regions(run.graph()) == "aabbbcccbb"


def test_region_is_shared_by_adjacent_receives(run):
    thread = run.process().thread()
    thread.enter("serve").log("x").receive(1).receive(2).put(Kind.PAYLOAD, channel="n", text="2").receive(3).log("x")
    thread.receive(4).exit("serve")
    graph = run.graph()
    assert regions(graph) == "aabbbbbcc"


def test_region_of_receive_includes_adjacent_acquire_and_release(run):
    thread = run.process().thread()
    thread.enter("handle").acquire(1, "condition").receive(1).release(2, "condition").receive(2).log("x").exit("handle")
    thread.log("x").acquire(2).log("x")
    assert regions(run.graph()) == "aaaaaaabbb"


def test_region_opened_right_after_enter_includes_the_enter(run):
    thread = run.process().thread()
    thread.enter("loop")
    thread.enter("handle").receive(1).log("x").exit("handle")
    thread.enter("handle").put(Kind.PAYLOAD, channel="n", text="1").request("write").log("x").exit("handle")
    thread.enter("handle").log("x").receive(2).exit("handle")
    thread.exit("loop")
    graph = run.graph()
    assert regions(graph) == "abbbbcccccaadda"
    assert [RegionKind(int(kind)).name for kind in graph.regions.kind] == ["ROOT", "RECEIVE", "REQUEST", "RECEIVE"]


def test_region_of_received_request_is_one_request_region(run):
    run.process().thread().enter("handle").receive(1).request("write").log("x").exit("handle").log("x")
    graph = run.graph()
    assert regions(graph) == "aaaaab"
    assert graph.regions.kind.tolist() == [RegionKind.ROOT, RegionKind.REQUEST]


def test_region_of_callback_ends_with_its_scope_end(run):
    thread = run.process().thread()
    thread.enter("run").log("x")
    thread.begin(1).enter("callback").receive(2).exit("callback").end().begin(3).log("x").end().exit("run")
    assert regions(run.graph()) == "aabcccbddda"


def test_region_of_scope_without_end_ends_with_its_call(run):
    run.process().thread().enter("run").log("x").begin(1).log("x").exit("run").log("x")
    assert regions(run.graph()) == "aabbba"


def test_region_scope_end_without_beginning_is_ignored(run):
    run.process().thread().enter("run").end().log("x")
    assert regions(run.graph()) == "aaa"


def test_region_of_task_continues_after_suspensions(run):
    thread = run.process().thread()
    thread.step("t").enter("worker").receive(1).suspend("worker").stop("t")
    thread.log("between")
    thread.step("t").join(2).resume("worker").log("x").exit("worker").stop("t")
    assert regions(run.graph(), 1) == "abbbbbbbbba"


def test_region_of_generator_includes_code_that_it_yields_to(run):
    thread = run.process().thread()
    thread.enter("main").enter("read").log("x").receive(1).suspend("read").log("handled").resume("read").receive(2)
    thread.suspend("read").log("handled").resume("read").exit("read").log("after").exit("main")
    assert regions(run.graph()) == "aaabbbbcccccaa"


def test_region_of_unfinished_generator_ends_with_its_caller(run):
    thread = run.process().thread()
    thread.enter("main").enter("read").log("x").receive(1).suspend("read").exit("main").log("after")
    assert regions(run.graph()) == "aaabbba"


def test_region_of_caller_continues_after_end_of_generator(run):
    thread = run.process().thread()
    thread.enter("main").enter("gen").log("x").suspend("gen").receive(1).log("x").resume("gen").exit("gen").log(
        "x"
    ).exit("main")
    assert regions(run.graph()) == "aaaabbbbbb"


def test_region_is_not_opened_by_join(run):
    run.process().thread().enter("main").join(1).log("x").exit("main")
    assert regions(run.graph()) == "aaaa"


def naive(kind, channel, nesting, start, stop):
    """Return the opening that owns each event of a strand. Scopes are (opening, owner, channels, explicit)."""
    ends = dict(zip(nesting.enter.tolist(), nesting.exit.tolist(), strict=True))
    callers = dict(zip(nesting.enter.tolist(), nesting.caller.tolist(), strict=True))

    def ancestors(call):
        while call >= 0:
            call = callers[call]
            yield call

    def over(owner, opening, row):
        """Return whether the owner, or its nearest caller that ended after the opening, ended before the row."""
        while owner >= 0:
            if ends[owner] >= opening:
                return ends[owner] < row
            owner = callers[owner]
        return False

    stack, result, adjacent = [], {}, False
    for row in range(start, stop):
        stack = [scope for scope in stack if not over(scope[1], scope[0], row)]
        k, call = kind[row], int(nesting.call[row])
        if k in (Kind.RECEIVE, Kind.REQUEST, Kind.SCOPE_BEGIN):
            if adjacent and k != Kind.SCOPE_BEGIN and stack and stack[-1][1] == call:
                stack[-1][2].add(channel[row])
            else:
                if k == Kind.RECEIVE:
                    for place in reversed(range(len(stack))):
                        if stack[place][3]:
                            break
                        if channel[row] in stack[place][2]:
                            owner = stack[place][1]
                            if call == owner or owner not in ancestors(call):
                                del stack[place:]
                            break
                stack.append((row, call, {channel[row]} if k == Kind.RECEIVE else set(), k == Kind.SCOPE_BEGIN))
                back = row - 1
                while back >= start and kind[back] == Kind.PAYLOAD:
                    back -= 1
                if back >= start and kind[back] == Kind.ENTER and back == call:
                    for taken in range(back, row):
                        result[taken] = row
            adjacent = True
        elif k == Kind.SCOPE_END:
            adjacent = False
            explicit = [place for place, scope in enumerate(stack) if scope[3]]
            if explicit:
                del stack[explicit[-1] + 1 :]
                result[row] = stack.pop()[0]
                continue
        elif k != Kind.PAYLOAD:
            adjacent = False
        result[row] = stack[-1][0] if stack else -1
    return [result[row] for row in range(start, stop)]


event = st.tuples(
    st.sampled_from(
        [Kind.ENTER, Kind.ENTER, Kind.EXIT, Kind.EXIT, Kind.SUSPEND, Kind.RESUME, Kind.RECEIVE, Kind.RECEIVE]
        + [Kind.REQUEST, Kind.SCOPE_BEGIN, Kind.SCOPE_END, Kind.PAYLOAD, Kind.MARK]
    ),
    st.integers(1, 2),
)


@settings(max_examples=examples(1500), deadline=None)
@given(st.lists(st.lists(event, max_size=16), min_size=1, max_size=3))
def test_regions_equal_naive_walk(strands):
    flat = [record for records in strands for record in records]
    kind = np.array([k for k, _ in flat], np.uint8)
    number = np.array([n for _, n in flat], np.uint32)
    start = np.cumsum([0] + [len(records) for records in strands])
    nesting = nest(kind, number, start)
    region, table = split(kind, np.arange(len(kind), dtype=np.int32), number, nesting, start)
    for strand in range(len(strands)):
        expected = naive(kind, number, nesting, int(start[strand]), int(start[strand + 1]))
        found = [
            -1 if table.kind[number] == RegionKind.ROOT else int(table.opener[number])
            for number in region[start[strand] : start[strand + 1]]
        ]
        assert found == expected
    rows = np.arange(len(kind))
    for number in range(len(table)):
        mine = rows[region == number]
        assert (table.first[number], table.last[number]) == ((mine[0], mine[-1]) if len(mine) else (-1, -1))
