"""Cancellations of real tasks: those that a task swallowed are named, and those that it heeded in some way are not."""

from __future__ import annotations

import sys

from clew.graph.ops.diagnoses.control.cancellation_swallowed import find

SWALLOW = """
    import asyncio

    async def poll(queue):
        for _ in range(3):
            try:
                await queue.get()
            except BaseException:
                pass

    async def load():
        await asyncio.sleep(9)

    async def copy():
        try:
            await load()
        except:
            pass
        await asyncio.sleep(0.05)

    async def read():
        try:
            await asyncio.sleep(0.05)
        finally:
            return 1

    async def follow():
        for _ in range(4):
            await read()
            await asyncio.sleep(0.01)

    async def send(queue):
        while True:
            await asyncio.wait_for(queue.get(), 9)

    async def fails():
        await asyncio.sleep(0.01)
        raise ValueError("x")

    async def parts():
        try:
            async with asyncio.TaskGroup() as inner:
                inner.create_task(fails(), name="part")
        except* ValueError:
            pass
        await asyncio.sleep(0.05)

    async def whole():
        try:
            async with asyncio.TaskGroup() as outer:
                outer.create_task(parts(), name="parts")
                outer.create_task(fails(), name="header")
        except* ValueError:
            pass

    async def main():
        queue, mails = asyncio.Queue(), asyncio.Queue()
        tasks = [asyncio.create_task(work, name=name) for name, work in {
            "poller": poll(queue), "copier": copy(), "follower": follow(), "sender": send(mails)}.items()]
        await asyncio.sleep(0.01)
        mails.put_nowait("welcome")
        await asyncio.sleep(0)
        for task in tasks: task.cancel()
        await asyncio.gather(whole(), asyncio.wait(tasks, timeout=0.2))
        queue.put_nowait(1)
        queue.put_nowait(2)
        await asyncio.wait(tasks[:-1])

    asyncio.run(main())
"""

HEED = """
    import asyncio, contextlib

    async def stops(queue):
        with contextlib.suppress(asyncio.CancelledError):
            while True: await queue.get()
        await asyncio.sleep(0.01)

    async def drains(queue):
        async def take(): return await queue.get()
        try:
            while True: await take()
        except asyncio.CancelledError:
            queue.put_nowait(1)
        await asyncio.sleep(0)
        await asyncio.wait_for(take(), 1)

    async def cleans_up(queue):
        try:
            await queue.get()
        finally:
            await asyncio.sleep(0.01)

    async def passes_on(queue):
        children = [asyncio.create_task(cleans_up(queue)) for _ in range(2)]
        try:
            await queue.get()
        except BaseException:
            for child in children: child.cancel()
        await asyncio.wait(children)

    async def takes_back(queue):
        for _ in range(2):
            try:
                await queue.get()
            except asyncio.CancelledError:
                asyncio.current_task().uncancel()
                queue.put_nowait(1)

    async def raises_later(queue):
        saving, stop = asyncio.ensure_future(asyncio.sleep(0.03)), None
        while not saving.done():
            try:
                await asyncio.shield(saving)
            except asyncio.CancelledError as error:
                stop = error
        if stop: raise stop

    async def waits_for_condition(queue):
        condition = asyncio.Condition()
        async with condition: await condition.wait()

    async def fails():
        raise ValueError("x")

    async def groups(queue):
        for _ in range(2):
            try:
                async with asyncio.timeout(0.01), asyncio.TaskGroup() as group:
                    group.create_task(cleans_up(queue))
            except TimeoutError:
                pass
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(fails())
                    group.create_task(cleans_up(queue))
            except* ValueError:
                pass
            await asyncio.sleep(0.01)

    async def main():
        works = (stops, drains, cleans_up, passes_on, takes_back, raises_later, waits_for_condition)
        tasks = [asyncio.create_task(work(asyncio.Queue()), name=work.__name__) for work in works]
        await asyncio.sleep(0.01)
        for task in tasks: task.cancel()
        tasks.append(asyncio.create_task(groups(asyncio.Queue()), name="groups"))
        await asyncio.wait(tasks)

    asyncio.run(main())
"""


def test_task_that_goes_on_after_its_cancellation_is_named_with_the_handler(facts):
    found = {finding.claims[0].text: finding for finding in find(facts(SWALLOW))}
    texts = {name: finding.text for text, finding in found.items() for name in text.split() if name in _SWALLOWED}
    lost_by_library = {"sender"} if sys.version_info < (3, 12) else set()
    lost_by_group = {"parts"} if sys.version_info < (3, 13) else set()
    assert set(texts) == {"poller", "copier", "follower"} | lost_by_library | lost_by_group
    for name, text in texts.items():
        assert _SWALLOWED[name] in text
    assert "waited again" in texts["poller"]
    assert "because header failed" in texts.get("parts", "because header failed")


_SWALLOWED = {
    "poller": "poll swallowed it (`except BaseException`, program.py:",
    "copier": "copy swallowed it (`except`, program.py:",
    "follower": "read swallowed it (`return in finally`, program.py:",
    "sender": "wait_for (tasks.py:",
    "parts": "TaskGroup.__aexit__ (taskgroups.py:",
}


def test_task_that_ends_or_passes_its_cancellation_on_or_takes_it_back_is_not_named(facts):
    assert [finding.text for finding in find(facts(HEED))] == []


def test_wait_after_a_cancellation_tells_whether_it_is_handled_or_was_taken_back(facts):
    found = facts(HEED)
    told = {}
    for wait in found.waits:
        text = wait.begin.text
        told.setdefault(found.name(wait.strand), []).append((text.cancelling, text.handling))
    assert (told["stops"], told["takes_back"]) == ([(0, False), (1, False)], [(0, False)])
    assert told["cleans_up"] == [(0, False), (1, True)]


def test_task_group_asks_its_own_task_as_owner_and_others_not(facts):
    found = facts(SWALLOW)
    group = [cancel for cancel in found.cancels if cancel.channel == "asyncio.taskgroup"]
    assert {(found.target(cancel), cancel.text.own) for cancel in group} >= {("parts", True), ("parts", False)}
