"""A program sees the same exceptions, texts and frames as without clew."""

from __future__ import annotations

import re

import pytest

from clew.records.plan.plan import LogCapture

PROLOGUE = """
import asyncio, concurrent.futures, contextlib, http.client, http.server, io, logging, os, queue, subprocess, sys
import threading, traceback, multiprocessing

logging.basicConfig(format="%(message)s")

class Odd:
    def __lt__(self, other): raise KeyError("odd")
    def __str__(self): raise KeyError("odd")

class Picky(queue.Queue):
    def _put(self, item): raise KeyError(item)
    def _get(self): raise KeyError("none")

class PickyAsync(asyncio.Queue):
    def _put(self, item): raise KeyError(item)

def task(coroutine): return asyncio.get_running_loop().create_task(coroutine)
async def nothing(): pass
async def fail(): raise KeyError("fail")
def failing(): raise KeyError("fail")
async def started(main): await main(asyncio.get_running_loop())

def show():
    error = sys.exc_info()[1]
    print(traceback.format_exc())
    while error is not None:
        found = error.__traceback__
        while found is not None:
            print(found.tb_frame.f_code.co_filename, found.tb_frame.f_code.co_qualname, found.tb_lineno)
            found = found.tb_next
        error = error.__cause__ or error.__context__
"""

PROGRAMS = {
    "a command that is not there": "subprocess.Popen(['/no/such/command'])",
    "a command without a name": "subprocess.run([])",
    "an environment that is none": "subprocess.run(['true'], env={'A': 1})",
    "a working directory that is not there": "subprocess.run(['true'], cwd='/no/such')",
    "a function before the program that fails": "subprocess.run(['true'], preexec_fn=failing)",
    "a child that takes too long": "subprocess.run(['sleep', '9'], timeout=0.01)",
    "a wait that takes too long": "subprocess.Popen(['sleep', '3'], stdout=-3, stderr=-3).wait(timeout=0.01)",
    "a child that fails": "subprocess.run(['false'], check=True)",
    "a process that was not started": "multiprocessing.Process(target=failing).join()",
    "an empty simple queue": "queue.SimpleQueue().get_nowait()",
    "an empty simple queue, waited for": "queue.SimpleQueue().get(timeout=0.1)",
    "a wrong timeout": "queue.SimpleQueue().get(True, -1)",
    "a simple queue's wrong arguments": "queue.SimpleQueue().put()",
    "a simple queue's unknown arguments": "queue.SimpleQueue().get(now=True)",
    "a simple queue made wrongly": "queue.SimpleQueue(5)",
    "an empty queue": "queue.Queue().get_nowait()",
    "a full queue": "jobs = queue.Queue(1); jobs.put(1); jobs.put_nowait(2)",
    "items without an order": "jobs = queue.PriorityQueue(); jobs.put(Odd()); jobs.put(Odd())",
    "a queue that refuses": "Picky().put(5)",
    "a queue that has nothing": "jobs = Picky(); jobs._qsize = lambda: 1; jobs.get()",
    "an empty asyncio queue": "asyncio.Queue().get_nowait()",
    "an asyncio queue that refuses": "PickyAsync().put_nowait(5)",
    "asyncio items without an order": "jobs = asyncio.PriorityQueue(); jobs.put_nowait(Odd()); jobs.put_nowait(Odd())",
    "a thread that was not started": "threading.Thread().join()",
    "a thread that is started twice": "worker = threading.Thread(); worker.start(); worker.start()",
    "work that fails": "with concurrent.futures.ThreadPoolExecutor(1) as pool: pool.submit(failing).result()",
    "work for a pool that is over": "pool = concurrent.futures.ThreadPoolExecutor(1); pool.shutdown(); pool.submit(failing)",
    "a result that takes too long": "concurrent.futures.Future().result(timeout=0.01)",
    "a result that comes twice": "future = concurrent.futures.Future(); future.set_result(1); future.set_result(2)",
    "a task that fails": "asyncio.run(fail())",
    "what is no task": "asyncio.run(5)",
    "a request to nobody": "http.client.HTTPConnection('127.0.0.1', 1).request('GET', '/')",
    "a request out of order": "http.client.HTTPConnection('127.0.0.1', 1).endheaders()",
    "a log line of its own": "logging.Formatter().formatMessage(5)",
    "a log line that cannot be made": "logging.error('%s %s', 1); failing()",
    "an exit with a word": "os._exit('now')",
}

COROUTINES = {
    "a future without a result": "loop.create_future().result()",
    "a future's second result": "future = loop.create_future(); future.set_result(1); future.set_result(2)",
    "a future's wrong arguments": "loop.create_future().set_result()",
    "a future's second exception": "future = loop.create_future(); future.cancel(); future.set_exception(KeyError())",
    "a future's wrong exception": "loop.create_future().set_exception(5)",
    "a future's wrong cancellation": "loop.create_future().cancel(1, 2)",
    "a future that was cancelled": "future = loop.create_future(); future.cancel('why'); await future",
    "a future that failed": "future = loop.create_future(); future.set_exception(KeyError(1)); await future",
    "a task's result": "task(nothing()).set_result(1)",
    "a task's name": "job = task(nothing()); await job; job.set_name(Odd())",
    "a task's wrong cancellation": "task(nothing()).cancel(1, 2)",
    "a task that was awaited": "await task(fail())",
    "a task that was cancelled": "job = task(asyncio.sleep(9)); await asyncio.sleep(0); job.cancel('why'); await job",
    "several tasks": "await asyncio.gather(nothing(), fail())",
    "a group of tasks": "async with asyncio.TaskGroup() as group: group.create_task(fail())",
    "a deadline": "await asyncio.wait_for(asyncio.sleep(9), 0.01)",
    "a command that is not there": "await asyncio.create_subprocess_exec('/no/such/command')",
    "an eager task": "loop.set_task_factory(asyncio.eager_task_factory); await task(fail())",
    "an eager task of nothing": "asyncio.eager_task_factory(loop, 5)",
    "an eager factory of nothing": "asyncio.create_eager_task_factory()",
}


def source() -> str:
    """Return one program with all cases, to save time; a heading separates them."""
    text = PROLOGUE
    for name, statement in PROGRAMS.items():
        text += f"print({name!r})\ntry:\n    {statement}\nexcept BaseException: show()\n"
    for name, statement in COROUTINES.items():
        text += f"print({name!r})\nasync def main(loop):\n    {statement}\n"
        text += "try: asyncio.run(started(main))\nexcept BaseException: show()\n"
    return text


def cases(output: str) -> dict[str, str]:
    found: dict[str, str] = {}
    name = ""
    for line in output.splitlines():
        if line in PROGRAMS or line in COROUTINES:
            name = line
        found[name] = found.get(name, "") + same_in_every_run(line) + "\n"
    return found


def same_in_every_run(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+|\bTask-\d+\b|\b0\.0\d+ seconds", "…", text)


@pytest.mark.parametrize("recorder", ["c"])
def test_tracebacks_of_recorded_program_equal_plain_run(record, recorder):
    plain = record(source(), environment={"CLEW_RUN": "", "PYTHONPATH": ""})
    traced = record(source(), logs=LogCapture(ids=True))
    assert plain.code == traced.code == 0, traced.stderr
    assert traced.processes
    expected, found = cases(plain.stdout), cases(traced.stdout)
    assert not [name for name in expected if name and "Traceback (most recent call last)" not in expected[name]]
    for name, text in expected.items():
        assert found[name] == text, name
    assert same_in_every_run(traced.stderr) == same_in_every_run(plain.stderr)
