"""Stacks of threads and tasks: what they wait for and hold, without running code of the program."""

import asyncio
import queue
import subprocess
import sys
import textwrap
import threading

import pytest

from clew.instrument.attach import frame_values
from clew.instrument.attach.stacks import snapshot


class Guarded:
    """Fails the test when any of its code runs."""

    def __init__(self):
        object.__setattr__(self, "lock", threading.Lock())

    def __getattribute__(self, name):
        raise AssertionError(name)

    def __eq__(self, other):
        raise AssertionError("eq")

    def __hash__(self):
        raise AssertionError("hash")

    @property
    def computed(self):
        raise AssertionError("property")


class Slotted:
    __slots__ = ("lock",)

    def __init__(self):
        self.lock = threading.Lock()


def of_thread(name):
    return next(each for each in snapshot()["threads"] if each["name"] == name)


@pytest.fixture
def blocked(until):
    """`blocked(function)` runs a function in a thread until it waits, and returns what the stacks tell of it."""

    def start(function):
        thread = threading.Thread(target=function, name=f"blocked {function.__name__}", daemon=True)
        thread.start()
        return until(lambda: (found := of_thread(thread.name))["wait"] and found)

    return start


@pytest.fixture
def until():
    def wait(condition):
        for _ in range(500):
            if found := condition():
                return found
            threading.Event().wait(0.01)
        raise AssertionError("did not happen")

    return wait


def test_snapshot_of_with_in_a_local_names_the_lock(blocked):
    first, second = threading.Lock(), threading.Lock()
    second.acquire()

    def work():
        with first, second:
            pass

    found = blocked(work)
    assert (found["wait"]["channel"], found["wait"]["name"], found["wait"]["key"]) == ("lock", "second", id(second))
    assert [held["key"] for held in found["holds"]] == [id(first)]
    second.release()


def test_snapshot_of_guarded_object_runs_none_of_its_code():
    owner = Guarded()
    owner_of_it = {"owner": owner}
    with threading.Lock():
        found = of_thread(threading.current_thread().name)
    assert found["frames"] and owner_of_it
    assert type(frame_values.attribute(owner, "lock")) is type(threading.Lock())
    assert frame_values.attribute(owner, "computed") is frame_values.NOTHING
    assert frame_values.attribute(owner, "absent") is frame_values.NOTHING


def test_snapshot_of_slot_and_rlock_gives_the_owner(blocked):
    owner, lock = Slotted(), threading.RLock()
    owner.lock.acquire()
    lock.acquire()

    def slot():
        owner.lock.acquire()

    def reentrant():
        lock.acquire()
        lock.release()

    assert blocked(slot)["wait"]["name"] == "owner.lock"
    found = blocked(reentrant)["wait"]
    assert found["channel"] == "rlock" and found["owner"] == threading.get_ident()
    lock.release()
    owner.lock.release()


def test_snapshot_of_library_waits_names_them(blocked):
    jobs, event = queue.Queue(), threading.Event()

    def get():
        jobs.get()

    def wait():
        event.wait()

    found = blocked(get)["wait"]
    assert (found["channel"], found["name"], found["idle"]) == ("queue", "jobs", True)
    found = blocked(wait)["wait"]
    assert (found["channel"], found["name"], found["idle"]) == ("event", "event", False)
    jobs.put(1)
    event.set()


def test_snapshot_of_tasks_gives_what_they_await():
    async def inside(lock, future):
        async with lock:
            await future

    async def waits(lock):
        async with lock:
            pass

    async def main():
        lock, future = asyncio.Lock(), asyncio.get_running_loop().create_future()
        tasks = [
            asyncio.create_task(inside(lock, future), name="inside"),
            asyncio.create_task(waits(lock), name="waits"),
        ]
        gathering = asyncio.gather(*tasks)
        joined = asyncio.create_task(asyncio.wait_for(gathering, 5), name="joined")
        await asyncio.sleep(0.01)
        found = {task["name"]: task for task in snapshot()["tasks"]}
        future.set_result(None)
        await joined
        return found, id(lock), [id(task) for task in tasks]

    found, lock, tasks = asyncio.run(main())
    assert found["waits"]["wait"]["channel"] == "asyncio.lock" and found["waits"]["wait"]["key"] == lock
    assert found["waits"]["wait"]["name"] == "lock"
    assert found["inside"]["wait"]["channel"] == "asyncio.future"
    assert [held["key"] for held in found["inside"]["holds"]] == [lock]
    assert found["inside"]["id"] == tasks[0]


def test_snapshot_of_changed_source_gives_no_names(tmp_path, blocked):
    file = tmp_path / "late.py"
    file.write_text(
        source := textwrap.dedent("""
        def work():
            with lock:
                pass
    """)
    )
    names = {"lock": threading.Lock()}
    names["lock"].acquire()
    exec(compile(source, str(file), "exec"), names)
    file.write_text("x = 1\n" * 20)
    thread = threading.Thread(target=names["work"], name="late", daemon=True)
    thread.start()
    for _ in range(20):
        found = of_thread("late")
        assert found["wait"] is None and found["holds"] == []
    names["lock"].release()


def test_snapshot_loads_no_asyncio():
    code = "from clew.instrument.attach.stacks import snapshot; import sys; snapshot(); print('asyncio' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
