"""Small programs that state the past of each of their marks: the graph's pasts equal the stated ones."""

from __future__ import annotations

import sys

import pytest

from tests.support.programs.stated_pasts import found_pasts, stated_pasts

COMMON = """
    import asyncio, concurrent.futures, queue, sys, threading, time
    import clew

    def mark(name): clew.mark("at", name)

    async def child(name, seconds):
        mark(name + "-begins")
        await asyncio.sleep(seconds)
        mark(name + "-ends")

    async def failing(name, seconds):
        await child(name, seconds)
        raise ValueError

    def make(coroutine): return asyncio.create_task(coroutine)
    """

COMPLETION = """
    async def main():
        mark("start")                                       #: start <
        task = make(child("awaited", 0.001))                #: awaited-begins < start
        mark("made")                                        #: made < start
        await asyncio.wait_for(task, 5)                     #: awaited-ends < awaited-begins
        mark("waited-for")                                  #: waited-for < made awaited-ends

        try:
            async with asyncio.timeout(0.002): await make(child("late", 100))
        except TimeoutError: mark("timed-out")              #: late-begins < waited-for
        #: timed-out < waited-for late-begins

        task = make(child("shielded", 0.01))                #: shielded-begins < timed-out
        try: await asyncio.wait_for(asyncio.shield(task), 0.001)
        except TimeoutError: mark("gave-up")                #: gave-up < timed-out
        await task                                          #: shielded-ends < shielded-begins
        mark("after-all")                                   #: after-all < gave-up shielded-ends

        tasks = make(child("slow", 0.01)), make(child("fast", 0.001))
        #: slow-begins < after-all
        #: fast-begins < after-all
        completed = iter(asyncio.as_completed(tasks))       #: fast-ends < fast-begins
        await next(completed)
        mark("first")                                       #: first < after-all fast-ends
        await next(completed)                               #: slow-ends < slow-begins
        mark("second")                                      #: second < first slow-ends

        done = [make(child("done-1", 0)), make(child("done-2", 0))]
        #: done-1-begins < second
        #: done-1-ends < done-1-begins
        #: done-2-begins < second
        #: done-2-ends < done-2-begins
        completed = iter(asyncio.as_completed(done))
        one = next(completed)
        await asyncio.sleep(0.002)
        mark("all-done")                                    #: all-done < second
        await one
        await next(completed)
        mark("taken")                                       #: taken < all-done done-1-ends done-2-ends

        pair = make(child("early", 0.001)), make(child("never", 100))
        #: early-begins < taken
        #: never-begins < taken
        await asyncio.wait(pair, return_when=asyncio.FIRST_COMPLETED)
        mark("one-of-two")                                  #: early-ends < early-begins
        #: one-of-two < taken early-ends
        pair[1].cancel()
        await asyncio.wait(pair)
        mark("both")                                        #: both < one-of-two never-begins

        pair = make(child("in-time", 0)), make(child("too-late", 100))
        #: in-time-begins < both
        #: in-time-ends < in-time-begins
        #: too-late-begins < both
        await asyncio.wait(pair, timeout=0.01)
        mark("out-of-time")                                 #: out-of-time < both in-time-ends

        try: await asyncio.gather(make(child("going-on", 0.02)), make(failing("failed", 0.001)))
        except ValueError: mark("failure")                  #: failure < out-of-time failed-ends
        #: failed-begins < out-of-time
        #: failed-ends < failed-begins
        #: going-on-begins < out-of-time
        #: going-on-ends < going-on-begins

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(failing("member", 0.001))
                group.create_task(child("fellow", 100))
        except* ValueError: mark("group")                   #: member-begins < failure
        #: member-ends < member-begins
        #: fellow-begins < failure
        #: group < failure member-ends fellow-begins
        await asyncio.sleep(0.03)

    asyncio.run(main())
    """

BOTH_WORLDS = """
    async def main():
        loop = asyncio.get_running_loop()
        mark("start")                                       #: start <
        future = loop.create_future()
        loop.call_later(0.001, lambda: (mark("timer"), future.set_result(1)))
        await future                                        #: timer < start
        mark("told")                                        #: told < start timer
        loop.call_soon(mark, "cancelled").cancel()
        loop.call_at(loop.time() + 0.001, mark, "at-its-time")
        await asyncio.sleep(0.005)                          #: at-its-time < told
        mark("slept")                                       #: slept < told

        def thread():
            mark("thread-begins")                           #: thread-begins < slept
            asyncio.run_coroutine_threadsafe(child("coroutine", 0.001), loop).result()
            mark("thread-ends")                             #: thread-ends < thread-begins coroutine-ends
        #: coroutine-begins < thread-begins
        #: coroutine-ends < coroutine-begins
        other = threading.Thread(target=thread)
        other.start()
        while other.is_alive(): await asyncio.sleep(0.001)
        mark("not-joined")                                  #: not-joined < slept
        other.join()
        mark("joined")                                      #: joined < not-joined thread-ends

        await asyncio.to_thread(mark, "in-thread")          #: in-thread < joined
        mark("back")                                        #: back < in-thread
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            wrapped = asyncio.wrap_future(pool.submit(mark, "submitted"))
            await asyncio.gather(wrapped, loop.run_in_executor(pool, mark, "run"))
        mark("gathered")                                    #: submitted < back
        #: run < back
        #: gathered < submitted run

        plain = concurrent.futures.Future()
        def settle():
            mark("settling")                                #: settling < gathered
            plain.set_result(None)
            mark("settled")                                 #: settled < settling
        wrapped, other = asyncio.wrap_future(plain), threading.Thread(target=settle)
        other.start()
        await wrapped
        mark("unwrapped")                                   #: unwrapped < gathered settling
        other.join()
        mark("end")                                         #: end < unwrapped settled

    asyncio.run(main())
    """

WRITTEN_IN_PYTHON = """
    class Loop(asyncio.SelectorEventLoop):
        def create_future(self): return asyncio.futures._PyFuture(loop=self)
        def create_task(self, coroutine, **options): return asyncio.tasks._PyTask(coroutine, loop=self, **options)

    async def main():
        mark("start")                                       #: start <
        tasks = make(child("short", 0)), make(child("long", 0.005))
        #: short-begins < start
        #: short-ends < short-begins
        #: long-begins < start
        #: long-ends < long-begins
        await asyncio.gather(*tasks)
        mark("gathered")                                    #: gathered < start short-ends long-ends
        early, never = make(child("early", 0)), make(failing("failing", 0))
        #: early-begins < gathered
        #: early-ends < early-begins
        #: failing-begins < gathered
        #: failing-ends < failing-begins
        await asyncio.sleep(0.002)
        mark("later")                                       #: later < gathered
        await early
        mark("awaited")                                     #: awaited < later early-ends
        never.exception()
        mark("looked-at")                                   #: looked-at < awaited failing-ends
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(lambda: (mark("setter"), future.set_result(1)))
        #: setter < looked-at
        await asyncio.sleep(0.002)
        mark("not-asked")                                   #: not-asked < looked-at
        await future
        mark("asked")                                       #: asked < not-asked setter
        for one in asyncio.as_completed([make(child("last", 0))]): await one
        #: last-begins < asked
        #: last-ends < last-begins
        mark("end")                                         #: end < asked last-ends

    with asyncio.Runner(loop_factory=Loop) as runner: runner.run(main())
    """

SHUTDOWN = """
    def getter(jobs):
        mark("get")                                         #: get < start
        try: jobs.get()
        except queue.ShutDown: mark("got-none")             #: got-none < get closing
    def joiner(jobs):
        mark("join")                                        #: join < closed
        jobs.join()
        mark("joined")                                      #: joined < join dropping
    def shut(jobs, name, immediate=False):
        mark(name)
        jobs.shutdown(immediate)
        mark(name + "-over")
    def begin(*call):
        thread = threading.Thread(target=call[0], args=call[1:])
        thread.start()
        return thread
    def unseen(thread):
        while thread.is_alive(): time.sleep(0.001)

    mark("start")                                           #: start <
    jobs = queue.Queue()
    waiting = begin(getter, jobs)
    while not jobs.not_empty._waiters: time.sleep(0.001)
    closing = begin(shut, jobs, "closing")                  #: closing < start
    waiting.join(); closing.join()                          #: closing-over < closing
    mark("closed")                                          #: closed < got-none closing-over

    jobs = queue.Queue()
    jobs.put(1); jobs.put(2)
    waiting = begin(joiner, jobs)
    while not jobs.all_tasks_done._waiters: time.sleep(0.001)
    dropping = begin(shut, jobs, "dropping", True)          #: dropping < closed
    waiting.join(); dropping.join()                         #: dropping-over < dropping
    mark("dropped")                                         #: dropped < joined dropping-over

    jobs = queue.Queue()
    jobs.put(1)
    thread = begin(shut, jobs, "before", True)              #: before < dropped
    unseen(thread)                                          #: before-over < before
    mark("not-yet")                                         #: not-yet < dropped
    jobs.join()
    mark("nothing-to-join")                                 #: nothing-to-join < not-yet before

    for name, use in (("put", lambda jobs: jobs.put(1)), ("look", lambda jobs: jobs.get(block=False))):
        jobs = queue.Queue()
        unseen(begin(shut, jobs, name + "-first"))          #: put-first < nothing-to-join
        #: put-first-over < put-first
        #: look-first < put-refused
        #: look-first-over < look-first
        try: use(jobs)
        except queue.ShutDown: mark(name + "-refused")      #: put-refused < nothing-to-join put-first
        #: look-refused < put-refused look-first

    async def taker(jobs):
        mark("taker")                                       #: taker < loop
        try: await jobs.get()
        except asyncio.QueueShutDown: mark("took-none")     #: took-none < taker task-closes
    async def awaiter(jobs):
        mark("awaiter")                                     #: awaiter < task-closed
        await jobs.join()
        mark("awaited")                                     #: awaited < awaiter task-drops
    async def closer(jobs, name, immediate=False):
        mark(name)
        jobs.shutdown(immediate)
    async def main():
        mark("loop")                                        #: loop < look-refused
        jobs = asyncio.Queue()
        tasks = make(taker(jobs)), make(closer(jobs, "task-closes"))
        for task in tasks: await task                       #: task-closes < loop
        mark("task-closed")                                 #: task-closed < took-none
        jobs = asyncio.Queue()
        jobs.put_nowait(1)
        tasks = make(awaiter(jobs)), make(closer(jobs, "task-drops", True))
        for task in tasks: await task                       #: task-drops < task-closed
        mark("task-dropped")                                #: task-dropped < awaited
        async def late():
            try: jobs.put_nowait(1)
            except asyncio.QueueShutDown: mark("late")      #: late < task-dropped
        await make(late())

    asyncio.run(main())
    """

ADAPTERS = ("threads", "locks", "executors", "queues", "tasks")


def check(record, program):
    run = record(COMMON + program, rules=False, adapters=ADAPTERS)
    assert run.code == 0 and not run.stderr, run.stderr
    stated, found = stated_pasts(program), found_pasts(run.folder)
    assert found.keys() == stated.keys()
    for name in stated:
        missed, false = stated[name] - found[name], found[name] - stated[name]
        assert not missed and not false, f"{name}: missed {sorted(missed)}, false {sorted(false)}"


@pytest.mark.parametrize("record", ["c"], indirect=True)
@pytest.mark.parametrize(
    "program", [COMPLETION, BOTH_WORLDS, WRITTEN_IN_PYTHON], ids=["completion", "both-worlds", "written-in-python"]
)
def test_wait_for_several_futures_has_exactly_their_pasts(record, program):
    check(record, program)


@pytest.mark.skipif(sys.version_info < (3, 13), reason="queues are shut down from Python 3.13 on")
def test_get_from_queue_that_is_shut_down_depends_on_the_shutdown(record):
    check(record, SHUTDOWN)
