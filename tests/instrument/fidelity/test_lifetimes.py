"""Recording extends no lifetimes: an object without references is deleted immediately, not by garbage collection."""

from __future__ import annotations

import pytest

PLAIN = {"CLEW_RUN": "", "PYTHONPATH": ""}

PROGRAM = """
import asyncio, concurrent.futures, contextvars, gc, multiprocessing, os, queue, sched, signal, socket, subprocess, sys
import threading, time, weakref
from multiprocessing.pool import ThreadPool

watched = []

def watch(name, *things):
    watched.append((name, [(type(thing).__name__, weakref.ref(thing)) for thing in things]))

class Item:
    pass

def same(thing):
    return thing

def threads():
    thread = threading.Thread(target=same, args=(1,)); thread.start(); thread.join()
    timer = threading.Timer(0.001, same, (1,)); timer.start(); timer.join()
    watch("threads", thread, timer)
    for kind in (threading.Condition, threading.Semaphore, threading.BoundedSemaphore):
        with kind() as _: pass
        watch("lock", one := kind())
        one.acquire(); one.release()
    event, barrier, local = threading.Event(), threading.Barrier(1), threading.local()
    event.set(); event.wait(); barrier.wait(); local.item = Item()
    watch("other primitives", event, barrier, local, local.item)

def queues():
    for kind in (queue.Queue, queue.LifoQueue, queue.SimpleQueue):
        one, item = kind(), Item()
        one.put(item); one.get(); one.put(1)
        watch(kind.__name__, one, item)

def executors():
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        future = pool.submit(same, Item()); item = future.result(); list(pool.map(same, range(3)))
        concurrent.futures.wait([future]); list(concurrent.futures.as_completed([future]))
    watch("threads' executor", pool, future, item)
    with concurrent.futures.ProcessPoolExecutor(1) as pool:
        future = pool.submit(same, 3); future.result()
    watch("processes' executor", pool, future)

def processes():
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        with context.Pool(1) as pool:
            pool.map(same, [1])
            result = pool.apply_async(same, (1,)); result.get()
            several = pool.imap(same, [1, 2]); list(several)
        watch(f"pool, {method}", pool, result, several)
        simple, full, (here, there) = context.SimpleQueue(), context.Queue(), context.Pipe()
        simple.put(1); simple.get(); full.put(1); full.get(); full.close(); full.join_thread(); here.send(1); there.recv()
        process = context.Process(target=same, args=(1,)); process.start(); process.join()
        watch(f"between processes, {method}", simple, full, here, there, process, context.Lock(), context.Event())
    with ThreadPool(1) as pool: pool.map(same, [1])
    child = subprocess.Popen([sys.executable, "-c", "print(1)"], stdout=subprocess.PIPE); child.communicate()
    here, there = socket.socketpair(); here.sendall(b"x"); there.recv(1); here.close(); there.close()
    watch("others", pool, child, here, there)

def callbacks():
    scheduler = sched.scheduler(); scheduler.enter(0, 1, same, (1,)); scheduler.run()
    item, context = Item(), contextvars.copy_context()
    weakref.finalize(item, same, 1); context.run(same, 1)
    def handler(*_): pass
    signal.signal(signal.SIGUSR1, handler); os.kill(os.getpid(), signal.SIGUSR1); signal.signal(signal.SIGUSR1, signal.SIG_DFL)
    watch("callbacks", scheduler, item, context, handler)

async def slowly(thing):
    await asyncio.sleep(0)
    return thing

async def tasks():
    loop = asyncio.get_running_loop()
    task = asyncio.create_task(slowly(Item())); item = await task
    both = asyncio.gather(slowly(1), slowly(2)); await both
    future = loop.create_future(); loop.call_soon(future.set_result, 1); await future
    handle = loop.call_later(0.001, same, 1); await asyncio.sleep(0.005)
    await asyncio.wait([waited := asyncio.create_task(slowly(2))]); await asyncio.to_thread(same, 1)
    cancelled = asyncio.create_task(asyncio.sleep(10)); await asyncio.sleep(0); cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    async with asyncio.TaskGroup() as group: member = group.create_task(slowly(1))
    watch("tasks", task, item, both, future, handle, waited, cancelled, group, member)
    fifo, event, lock = asyncio.Queue(), asyncio.Event(), asyncio.Lock()
    await fifo.put(1); await fifo.get(); event.set(); await event.wait()
    async with lock: pass
    watch("tasks' primitives", fifo, event, lock)
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    await reader.read(); writer.close(); await writer.wait_closed(); server.close(); await server.wait_closed()
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(2)", stdout=subprocess.PIPE)
    await child.communicate()
    watch("streams", reader, writer, server, child)

if __name__ == "__main__":
    gc.disable()
    for part in (threads, queues, executors, processes, callbacks, lambda: asyncio.run(tasks())):
        part()
        time.sleep(0.05)
        for name, references in watched:
            for kind, reference in references:
                print(f"{name}: {kind} {'is gone' if reference() is None else 'is there'}")
        watched.clear()
"""


@pytest.mark.parametrize("recorder", ["c"])
def test_unreferenced_objects_of_recorded_program_die_immediately(record, recorder):
    plain = record(PROGRAM, environment=PLAIN)
    recorded = record(PROGRAM)
    assert plain.code == recorded.code == 0, plain.stderr + recorded.stderr
    assert plain.stdout.count("is gone") > 50
    assert recorded.stdout == plain.stdout
