"""Calls in the greenlets of a task, as SQLAlchemy's asyncio extension makes them, keep their callers, ends and times."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from clew.graph.build.builder import build
from clew.graph.model.graph import ExecutionGraph
from tests.support.programs.recording import STARTUP

BRIDGE = """
    import asyncio, greenlet, sys

    async def spawn(function, *arguments):
        context = greenlet.greenlet(function, greenlet.getcurrent())
        result = context.switch(*arguments)
        while not context.dead:
            try:
                value = await result
            except BaseException:
                result = context.throw(*sys.exc_info())
            else:
                result = context.switch(value)
        return result

    def wait(awaitable):
        return greenlet.getcurrent().parent.switch(awaitable)
    """


def paths_of(*libraries: str) -> dict[str, str]:
    """Return an environment in which a program finds the libraries; skip the test if one is not installed."""
    folders = [str(STARTUP)]
    for library in libraries:
        spec = importlib.util.find_spec(library)
        if spec is None or not spec.origin:
            pytest.skip(f"{library} is not installed")
        package = spec.submodule_search_locations is not None
        folders.append(str(Path(spec.origin).parents[1 if package else 0]))
    return {"PYTHONPATH": os.pathsep.join(dict.fromkeys(folders))}


def calls_of(graph: ExecutionGraph) -> list[tuple[str, str, str, bool]]:
    """Return the task, the function and the caller of each call, and whether it ended in its own task."""
    found = []
    for enter, leave, caller in zip(graph.calls.enter, graph.calls.exit, graph.calls.caller, strict=True):
        strand = graph.strand_of(int(enter))
        by = graph.sites[graph.at("site", int(caller))].qualname if caller >= 0 else ""
        own = leave >= 0 and graph.strand_of(int(leave)) is strand
        found.append((strand.name, graph.sites[graph.at("site", int(enter))].qualname, by, bool(own)))
    return found


def recorded(record, source: str, environment: dict[str, str], files: dict[str, str] | None = None) -> ExecutionGraph:
    result = record(source, environment=environment, files=files)
    assert result.code == 0, result.stderr
    graph, problems = build(result.folder)
    assert not any("matching" in problem.what for problem in problems)
    return graph


def test_greenlets_of_interleaved_tasks_keep_their_calls_apart(record):
    source = """
        import asyncio
        from bridge import spawn, wait

        def execute(number):
            for _ in range(3):
                fetch(number)
        def fetch(number):
            wait(asyncio.sleep(0.002 * number))
        async def query(number): await spawn(execute, number)
        async def main():
            async with asyncio.TaskGroup() as group:
                for number in range(1, 4):
                    group.create_task(query(number), name=f"q{number}")
        asyncio.run(main())
        """
    graph = recorded(record, source, paths_of("greenlet"), {"bridge.py": BRIDGE})
    calls = [call for call in calls_of(graph) if call[1] in ("query", "spawn", "execute", "fetch")]
    for task in ("q1", "q2", "q3"):
        assert [call for call in calls if call[0] == task] == [
            (task, "query", "", True), (task, "spawn", "query", True), (task, "execute", "spawn", True),
            *[(task, "fetch", "execute", True)] * 3,
        ]  # fmt: skip


def test_greenlet_of_a_cancelled_task_unwinds_its_own_calls(record):
    source = """
        import asyncio
        from bridge import spawn, wait

        def execute():
            try: fetch()
            finally: clean()
        def fetch(): wait(asyncio.sleep(10))
        def clean(): wait(asyncio.sleep(0.001))
        async def query(): await spawn(execute)
        async def main():
            task = asyncio.create_task(query(), name="query")
            await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        asyncio.run(main())
        """
    graph = recorded(record, source, paths_of("greenlet"), {"bridge.py": BRIDGE})
    calls = [call for call in calls_of(graph) if call[1] in ("execute", "fetch", "clean")]
    assert all(own for *_, own in calls)
    assert {call[1] for call in calls} == {"execute", "fetch", "clean"}


def test_sqlalchemy_async_sessions_keep_their_calls_apart(record):
    source = """
        import asyncio
        from sqlalchemy import event, text
        from sqlalchemy.ext.asyncio import create_async_engine

        engine = create_async_engine("sqlite+aiosqlite:///file.db")
        def load(connection, number):
            rows = connection.execute(text("select :n"), {"n": number}).all()
            return checked(rows, number)
        def checked(rows, number): return rows == [(number,)]
        async def query(number):
            async with engine.connect() as connection:
                for _ in range(3):
                    assert await connection.run_sync(load, number)
        async def main():
            async with asyncio.TaskGroup() as group:
                for number in range(4):
                    group.create_task(query(number), name=f"q{number}")
            await engine.dispose()
        asyncio.run(main())
        """
    graph = recorded(record, source, paths_of("sqlalchemy", "aiosqlite", "greenlet", "typing_extensions"))
    calls = [call for call in calls_of(graph) if call[1] in ("load", "checked")]
    expected = [(f"q{number}", function, caller, True) for number in range(4) for _ in range(3)
                for function, caller in (("load", "query"), ("checked", "load"))]  # fmt: skip
    assert sorted(calls) == sorted(expected)
