"""The Aggregate view of a recorded program, from machines down to functions, equals what its source implies."""

import json

import pytest

from clew.graph.ops.aggregation.drill_down import leaves
from clew.graph.store import profile_cache
from clew.records.errors import ClewError
from clew.server import handlers
from clew.server.protocol.codec import decode, encode
from clew.server.protocol.registry import METHODS
from clew.server.protocol.shared import Target
from clew.server.protocol.views.aggregate import AggregateParams
from clew.server.session.session import Cancelled, Task


def ask(session, task=None, **params):
    """Return the answer after a round trip through JSON, as every client gets it."""
    data = handlers.answer(session, "clew/aggregate", encode(AggregateParams(**params)), task)
    return decode(METHODS["clew/aggregate"].result, json.loads(json.dumps(data)))


def opened_down(session, *labels, **params):
    """Return the answer with the nodes of these labels opened, one inside the other."""
    answer = ask(session, **params)
    for label in labels:
        path = next(box.path for box in answer.boxes if box.label == label)
        params["opened"] = [*params.get("opened", []), path]
        answer = ask(session, **params)
    return answer


def test_aggregate_of_run_starts_with_its_processes(session):
    answer = ask(session, run="before")
    assert (answer.level, answer.nesting) == ("process", ["machine", "process", "thread", "component", "function"])
    assert [box.label for box in answer.boxes] == ["shop.app", "shop.audit"]
    assert [(edge.source, edge.target, edge.channel, edge.count) for edge in answer.edges if edge.kind == "use"] == [
        (0, 1, "process.start", 1),
        (1, 0, "process.end", 1),
    ]
    assert sum(box.events for box in answer.boxes) == len(session.open("before").graph)
    assert (answer.hiddenBoxes, answer.containers, answer.message) == (0, [], "")


def test_aggregate_opened_to_functions_has_calls_errors_and_places(session, shop, line_of):
    answer = opened_down(session, "shop.app", "MainThread", "desk", run="before")
    functions = {box.label: box for box in answer.boxes if box.level == "function"}
    order = functions["app.order"]
    # There are twenty orders; one raises.
    assert (order.calls, order.errors, order.inside) == (20, 1, 0)
    assert order.location.path == str(shop / "shop/app.py")
    assert order.location.line == line_of("shop/app.py", "async def order")
    assert [box.label for box in answer.boxes if box.level == "process"] == ["shop.audit"]
    assert [one.box.label for one in answer.containers] == ["shop.app", "MainThread", "desk"]
    assert "shelf" in {box.label for box in answer.boxes if box.level == "component"}


def test_aggregate_by_task_has_tasks_instead_of_threads(session):
    answer = opened_down(session, "shop.app", run="before", strands="task")
    tasks = [box for box in answer.boxes if box.level == "task"]
    assert {f"order {item}" for item in range(20)} <= {box.label for box in tasks}


def test_aggregate_over_the_limit_shows_the_heaviest_nodes(session):
    every = opened_down(session, "shop.app", run="before", strands="task", measure="errors")
    few = opened_down(session, "shop.app", run="before", strands="task", measure="errors", maxBoxes=3)
    assert len(few.boxes) == 3 and few.hiddenBoxes == len(every.boxes) - 3
    assert "order 17" in {box.label for box in few.boxes}
    hottest = next(box for box in few.boxes if box.label == "order 17")
    assert hottest.heat == 1.0
    container = few.containers[0]
    assert container.hiddenBoxes + sum(box.level == "task" for box in few.boxes) == container.box.inside
    assert all(edge.source < 3 and edge.target < 3 for edge in few.edges)


def test_aggregate_of_target_has_only_its_causes(session):
    whole, part = ask(session, run="before"), ask(session, run="before", target=Target(text="Order failed"))
    assert part.title == "ERROR Order failed: item 17 is sold out"
    # The audit comes later.
    assert [box.label for box in part.boxes] == ["shop.app"]
    assert part.boxes[0].events < whole.boxes[0].events


def test_aggregate_unknown_text_or_level_is_reported(session):
    assert "No log line" in ask(session, target=Target(text="nobody ever said this")).message
    with pytest.raises(ClewError, match="unknown level 'galaxy'; levels: machine, process"):
        ask(session, level="galaxy")


def test_aggregate_that_is_cancelled_raises_cancelled(session):
    task = Task()
    task.cancel()
    with pytest.raises(Cancelled):
        ask(session, task, run="before", target=Target(text="Order failed"))


def test_aggregate_cached_leaves_equal_computed_leaves(session, monkeypatch):
    monkeypatch.setattr(profile_cache, "SMALL", 0)
    run = session.open("before")
    found = profile_cache.leaves_of_run(run.folder, run.graph, "thread")
    assert (run.folder / profile_cache.FOLDER / "leaves-thread.json").exists()
    monkeypatch.setattr(profile_cache, "leaves", None)
    kept = profile_cache.leaves_of_run(run.folder, run.graph, "thread")
    fresh = leaves(run.graph, "thread")
    for one in (found, kept):
        assert (one.levels, one.paths, one.channels) == (fresh.levels, fresh.paths, fresh.channels)
        assert all((one.own[name] == column).all() for name, column in fresh.own.items())
        assert all((one.times[name] == column).all() for name, column in fresh.times.items())
        assert (one.edges.latency == fresh.edges.latency).all()
