"""A timeline search finds the same events in the same order as a scan of all events, from any starting event."""

from __future__ import annotations

import random

import pytest

from clew.graph.ops.timeline.layout import Timeline
from clew.graph.ops.timeline.search import Finder
from clew.records.format.event import Kind

NAMES = ("read", "reread", "write", "Wait")


@pytest.fixture(params=range(5))
def finder(run, request):
    """Return a finder over threads that call functions at random, often at the same time, and log lines."""
    chance = random.Random(request.param)
    process = run.process()
    for number in range(3):
        thread = process.thread(f"thread-{number}")
        now, stack = 100, []
        for at in range(120):
            now += chance.choice((0, 0, 1, 7))
            if stack and chance.random() < 0.45:
                thread.exit(stack.pop(), at=now)
            elif chance.random() < 0.2:
                thread.log(f"line {at} of the {chance.choice(NAMES)}r", at=now)
            else:
                stack.append(chance.choice(NAMES))
                thread.enter(stack[-1], at=now)
        for name in reversed(stack):
            now += 1
            thread.exit(name, at=now)
    graph = run.graph()
    return Finder(graph, Timeline.of(graph))


def all_of(graph, text):
    """Return time and number of every event that a search should find."""
    found = []
    for event in range(len(graph)):
        kind = graph.at("kind", event)
        says = graph.function(event) if kind == Kind.ENTER else graph.text(event) if kind == Kind.LOG else ""
        if says and text.casefold() in says.casefold():
            found.append((graph.at("ts", event), event))
    return sorted(found)


@pytest.mark.parametrize("text", ["read", "WAIT", "er", "line 1", "app:", "nowhere"])
def test_search_visits_all_hits_in_both_directions(finder, text):
    graph = finder.graph
    wanted = all_of(graph, text)
    found = finder.find(text)
    assert (found.calls + found.logs, found.match) == (len(wanted), None)
    assert found.logs == sum(graph.at("kind", event) == Kind.LOG for _, event in wanted)
    for by, expected in ((1, wanted), (-1, wanted[::-1])):
        ns, event, seen = (-1, -1, []) if by > 0 else (1 << 60, -1, [])
        for _ in wanted:
            match = finder.find(text, by, ns, event).match
            assert match.is_log == (graph.at("kind", match.event) == Kind.LOG)
            assert match.place == 1 + wanted.index((match.ns, match.event))
            assert match.is_log or match.spot.event == match.event
            ns, event = match.ns, match.event
            seen.append((ns, event))
        assert seen == expected
        if wanted:  # the first follows the last
            assert finder.find(text, by, ns, event).match[:2] == expected[0]


def test_search_continues_from_any_event(finder):
    graph = finder.graph
    wanted = all_of(graph, "re")
    for event in range(0, len(graph), 7):
        here = graph.at("ts", event), event
        after = next((one for one in wanted if one > here), wanted[0])
        before = next((one for one in reversed(wanted) if one < here), wanted[-1])
        assert finder.find("re", 1, *here).match[:2] == after
        assert finder.find("re", -1, *here).match[:2] == before


def test_search_log_line_is_in_the_call_that_wrote_it(run):
    thread = run.process().thread("main")
    thread.enter("outer", at=10).enter("inner", at=20).log("here it is", at=30).exit("inner", at=40).exit(
        "outer", at=50
    )
    graph = run.graph()
    match = Finder(graph, Timeline.of(graph)).find("HERE", 1).match
    assert (match.is_log, graph.function(match.spot.event), match.spot.depth) == (True, "app:inner", 1)


def test_search_resumed_call_is_counted_once(run):
    thread = run.process().thread("main")
    thread.step("task", at=5).enter("work", at=10).suspend("work", at=20).stop("task", at=25)
    thread.step("task", at=30).resume("work", at=40).exit("work", at=50).stop("task", at=55)
    graph = run.graph()
    assert Finder(graph, Timeline.of(graph)).find("work").calls == 1


def test_search_for_empty_text_finds_no_event(finder):
    assert finder.find("", 1) == (0, 0, 0, None)
