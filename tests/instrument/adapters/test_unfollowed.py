"""A thread that runs greenlets or a foreign event loop is marked as not followed, and only then."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from clew.graph.build.builder import build
from clew.graph.ops.facts.unfollowed import limits, unfollowed, unfollowed_at
from clew.records.format.event import Kind
from tests.support.programs.recording import STARTUP

PROGRAMS = {
    "uvloop": """
        import logging, uvloop
        async def main(): logging.error("inside")
        logging.error("before")
        uvloop.run(main())
        logging.error("after")
        """,
    "gevent": """
        import gevent, logging
        def work():
            gevent.sleep(0.01)
            logging.error("inside")
        logging.error("before")
        gevent.joinall([gevent.spawn(work)])
        """,
    "eventlet": """
        import eventlet, logging
        def work():
            eventlet.sleep(0.01)
            logging.error("inside")
        logging.error("before")
        eventlet.spawn(work).wait()
        """,
    "trio": """
        import logging, trio
        async def main(): logging.error("inside")
        logging.error("before")
        trio.run(main)
        logging.error("after")
        """,
    "anyio": """
        import anyio, logging, trio
        async def main(): logging.error("inside")
        logging.error("before")
        anyio.run(main, backend="trio")
        logging.error("after")
        """,
    "twisted": """
        import logging
        from twisted.internet import reactor
        def work():
            logging.error("inside")
            reactor.stop()
        logging.error("before")
        reactor.callLater(0, work)
        reactor.run()
        logging.error("after")
        """,
}


def paths_of(library: str) -> dict[str, str]:
    """Return an environment in which a program finds the library; skip the test if it is not installed."""
    spec = importlib.util.find_spec(library)
    if spec is None or not spec.origin:
        pytest.skip(f"{library} is not installed")
    return {"PYTHONPATH": os.pathsep.join((str(STARTUP), str(Path(spec.origin).parents[1])))}


@pytest.mark.parametrize("library", PROGRAMS)
def test_unfollowed_loop_that_runs_is_marked_from_begin_to_end(record, library):
    environment = paths_of("trio" if library == "anyio" else library)
    result = record(PROGRAMS[library], environment=environment)
    assert result.code == 0, result.stderr
    graph, _ = build(result.folder)
    row_of = {graph.text(row): row for row in graph.rows_of([Kind.LOG]).tolist()}
    assert unfollowed_at(graph, row_of["before"]) is None
    assert unfollowed_at(graph, row_of["inside"]) is not None
    if "after" in row_of:
        assert unfollowed_at(graph, row_of["after"]) is None
    (sentence,) = limits(graph, row_of.values())
    assert ("trio" if library == "anyio" else library) in sentence
    assert "MainThread" in sentence
    notes = [note.text for process in result.processes for note in process.notes]
    assert len([note for note in notes if note.startswith("not followed: ")]) == 1


@pytest.mark.parametrize("library", [*PROGRAMS, "asyncio"])
def test_unfollowed_library_that_is_only_imported_leaves_no_mark(record, library):
    result = record(
        f"""
        import asyncio, logging, {library}
        async def main(): logging.error("inside")
        asyncio.run(main())
        """,
        environment=paths_of("json" if library == "asyncio" else library),
    )
    assert result.code == 0, result.stderr
    graph, _ = build(result.folder)
    assert unfollowed(graph) == []


def test_uvloop_loop_class_keeps_its_method(record):
    environment = paths_of("uvloop")
    result = record(
        """
        import inspect, uvloop
        from uvloop.loop import Loop
        function = uvloop.Loop.run_forever
        print(function.__name__ == Loop.run_forever.__name__, function.__doc__ == Loop.run_forever.__doc__)
        loop = uvloop.new_event_loop()
        loop.call_soon(loop.stop)
        print(loop.run_forever())
        """,
        environment=environment,
    )
    assert result.stdout.splitlines() == ["True True", "None"], result.stderr
