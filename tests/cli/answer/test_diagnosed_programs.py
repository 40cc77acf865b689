"""What diagnoses find in real programs with a fault of threads, finalizers or executors, and without the fault."""

import re

import pytest

from tests.support.programs.recorded_program import found_in, record


@pytest.fixture
def found(tmp_path):
    """`found(source)` returns the findings about a recorded program, each as its kind and its text."""

    def run(source, *arguments):
        folder = record(tmp_path, source, *arguments, codes=(0, 3))
        return [(finding.kind, finding.text) for finding in found_in(folder)]

    return run


AGAIN = """
import gc, os, signal, sys, threading, weakref

lock = threading.Lock() if "lock" in sys.argv else threading.RLock()

def close():
    if lock.acquire(timeout=0.2):
        lock.release()

class Connection:
    def __init__(self):
        self.itself = self if "gc" in sys.argv else None

    def __del__(self):
        close()

class Page:
    pass

def drop():
    connection = Connection()
    with lock:
        del connection
        gc.collect()

def interrupt():
    with lock:
        signal.raise_signal(signal.SIGUSR1)

def forget():
    page = Page()
    weakref.finalize(page, close)
    with lock:
        del page

def call():
    with lock:
        close()

signal.signal(signal.SIGUSR1, lambda number, frame: close())
{"gc": drop, "del": drop, "signal": interrupt, "finalize": forget, "call": call}[sys.argv[1]]()
"""


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("gc", "Meanwhile the garbage collector ran Connection.__del__ (app.py:14)"),
        ("del", "Meanwhile the last reference to an object was lost; this ran Connection.__del__ (app.py:14)"),
        ("signal", "Meanwhile a signal interrupted it; this ran <lambda> (app.py:40)"),
        ("finalize", "Meanwhile an object was dropped; this ran close (app.py:6)"),
        ("call", "Meanwhile it called close (app.py:6)"),
    ],
)
def test_lock_retaken_by_interrupting_code_names_what_ran_it(found, way, text):
    ((kind, told),) = found(AGAIN, way, "lock")
    assert kind == "retaken-by-holder"
    assert told.endswith(f"the lock cannot be taken twice. {text}, which led to the second attempt.")


@pytest.mark.parametrize("way", ["gc", "del", "signal", "finalize", "call"])
def test_reentrant_lock_retaken_by_interrupting_code_has_no_finding(found, way):
    assert found(AGAIN, way) == []


POOL = """
import asyncio, concurrent.futures, sys, threading

way, workers = sys.argv[1], int(sys.argv[2])
pool = concurrent.futures.ThreadPoolExecutor(workers, thread_name_prefix="pool")
beside = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="beside")
both, ledger = threading.Barrier(2), threading.Lock()

def leaf():
    return 1

def nested():
    both.wait()
    concurrent.futures.wait([pool.submit(leaf)], timeout=2)

def middle():
    return pool.submit(leaf).result()

def outer():
    concurrent.futures.wait([beside.submit(middle)], timeout=2)

def locked():
    with ledger:
        return 1

async def look_up():
    return await loop.run_in_executor(None, leaf)

def ask():
    both.wait()
    try:
        asyncio.run_coroutine_threadsafe(look_up(), loop).result(2)
    except TimeoutError:
        pass

async def main():
    global loop
    loop = asyncio.get_running_loop()
    loop.set_default_executor(pool)
    await asyncio.gather(asyncio.to_thread(ask), asyncio.to_thread(ask))

if way == "nested":
    concurrent.futures.wait([pool.submit(nested), pool.submit(nested)])
elif way == "two pools":
    pool.submit(outer).result()
elif way == "loop":
    asyncio.run(main())
elif way == "lock":
    with ledger:
        concurrent.futures.wait([pool.submit(locked)], timeout=2)
pool.shutdown(), beside.shutdown()
"""


@pytest.mark.parametrize(
    ("way", "workers", "text"),
    [
        ("nested", 2, "All 2 workers were occupied by nested, "),
        ("nested", 2, "Each of them waited for work that only these workers run: a circle."),
        ("two pools", 1, "The only worker, pool_0, was occupied by outer from "),
        ("two pools", 1, "outer waited for beside_0, which waited for the submitted work: a circle."),
        ("loop", 2, " had submitted to an executor at "),
        ("loop", 2, "All 2 workers were occupied by ask, "),
        ("loop", 2, "Each of them waited in the end for work that only these workers run: ask (pool_"),
    ],
)
def test_executor_occupied_by_work_that_needs_it_is_a_circle(found, way, workers, text):
    ((kind, told), *_others) = found(POOL, way, str(workers))
    assert kind == "executor-occupied"
    assert text in told


@pytest.mark.parametrize("way", ["nested", "two pools", "loop"])
def test_executor_with_enough_workers_has_no_finding(found, way):
    assert found(POOL, way, "6") == []


def test_lock_that_awaited_work_of_a_pool_needs_is_a_circle(found):
    ((kind, told), *_others) = found(POOL, "lock", "3")
    assert kind == "wait-circle"
    assert "pool_0 ran the work that MainThread waited for and itself waited for ledger (locked, " in told


LOST = """
import asyncio, gc, multiprocessing, os, queue, sys, threading, time
from concurrent.futures import Future

way, healthy = sys.argv[1], "healthy" in sys.argv
threading.excepthook = lambda arguments: None

def start(function, *arguments):
    threading.Thread(target=function, args=arguments, name=function.__name__, daemon=True).start()

orders = queue.Queue(2)

def pack():
    while True:
        orders.get()["id"]
        orders.task_done()

def fill():
    start(pack)
    for order in [{"id": 1}] if healthy else [{}, {}, {}, {}]:
        try:
            orders.put(order, timeout=1)
        except queue.Full:
            break
        time.sleep(0.05)

def compute(answer):
    if not healthy:
        raise LookupError("no data")
    answer.set_result(1)

def ask():
    answer = Future()
    start(compute, answer)
    try:
        answer.result(1)
    except TimeoutError:
        pass

prices = queue.SimpleQueue()

def sell():
    while True:
        article, reply = prices.get()
        reply.put({"pen": 2}[article])

def buy():
    start(sell)
    for article in ("pen", "pen" if healthy else "ink"):
        reply = queue.Queue()
        prices.put((article, reply))
        try:
            reply.get(timeout=1)
        except queue.Empty:
            pass

heard = threading.Condition()

def beat():
    for number in range(2):
        while not heard._waiters: time.sleep(0.01)
        with heard:
            heard.notify_all()
    if not healthy:
        raise OSError("no signal")

def listen():
    start(beat)
    with heard:
        for number in range(2 if healthy else 3):
            heard.wait(1)

def convert(number):
    if not healthy:
        os.kill(os.getpid(), 9)

def spread():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        try:
            pool.apply_async(convert, (1,)).get(timeout=1)
        except multiprocessing.TimeoutError:
            pass

async def upload(files):
    while True:
        name = await files.get()
        if name == "bad":
            raise ValueError(name)
        files.task_done()

async def share():
    files = asyncio.Queue()
    task = asyncio.create_task(upload(files), name="uploader")
    for name in ("good", "good" if healthy else "bad"):
        files.put_nowait(name)
    try:
        await asyncio.wait_for(files.join(), 1)
    except TimeoutError:
        pass

async def copy():
    await asyncio.get_running_loop().create_future()

async def back_up():
    task = asyncio.create_task(copy(), name="copier")
    if not healthy:
        del task
    await asyncio.sleep(0.01)
    gc.collect()
    await asyncio.sleep(0.01)

def slow(started):
    time.sleep(1)
    started.set()

def unrelated():
    started = threading.Event()
    start(pack)
    start(slow, started)
    orders.put({})
    started.wait(0.3)

def poll():
    stop = threading.Event()
    start(compute, Future())
    while not stop.wait(0.1) and time.monotonic() < begin + 0.4:
        pass

def work(jobs, done):
    while True:
        job = jobs.get()
        time.sleep(job)
        done.put(job)

def mixed():
    jobs, done = queue.Queue(), queue.Queue()
    start(work, jobs, done), start(work, jobs, done)
    jobs.put(-1)
    time.sleep(0.1)
    jobs.put(1.5)
    try:
        done.get(timeout=0.3)
    except queue.Empty:
        pass

begin = time.monotonic()
function = globals()[way]
asyncio.run(function()) if asyncio.iscoroutinefunction(function) else function()
"""


@pytest.mark.parametrize(
    ("way", "kind", "text"),
    [
        ("fill", "giver-lost", " pack, the only one that took items from it, was ended by KeyError: 'id' at "),
        ("ask", "giver-lost", " compute, which was to give it, was ended by LookupError: no data at "),
        ("buy", "giver-lost", " sell, which worked last on what MainThread had handed over at "),
        ("buy", "giver-lost", ", was ended by KeyError: 'ink' at "),
        ("listen", "giver-lost", " beat, the only one that had given it before, was ended by OSError: no signal at "),
        ("spread", "giver-lost", ", which worked last on what MainThread had handed over at "),
        ("spread", "giver-lost", " (convert, app.py:73)."),
        ("share", "giver-lost", " uploader, the only one that took items from it, was ended by ValueError: bad at "),
        ("back_up", "destroyed-pending", "It was destroyed by the garbage collector at "),
    ],
)
def test_wait_for_what_a_lost_strand_would_give_names_it_and_how_it_ended(found, way, kind, text):
    told = [told for own, told in found(LOST, way) if own == kind]
    assert len(told) == 1
    assert text in told[0]


@pytest.mark.parametrize("way", ["fill", "ask", "buy", "listen", "spread", "share", "back_up"])
def test_program_whose_strands_end_well_has_no_finding(found, way):
    assert found(LOST, way, "healthy") == []


@pytest.mark.parametrize("way", ["unrelated", "poll", "mixed"])
def test_wait_beside_a_lost_thread_that_would_not_end_it_has_no_finding(found, way):
    assert found(LOST, way) == []


PROCESSES = """
import multiprocessing, os, queue, signal, sys, time

def transfer(first, second, both, limit):
    with first:
        both.wait()
        if second.acquire(timeout=limit): second.release()

def keep(lock, taken, seconds):
    lock.acquire()
    taken.set()
    time.sleep(seconds)

def wait_for(lock, waiting):
    waiting.set()
    lock.acquire()

if __name__ == "__main__":
    method, way = sys.argv[1:]
    context = multiprocessing.get_context(method)
    if way in ("circle", "order"):
        alice, bob, both = context.Lock(), context.Lock(), context.Barrier(2 if way == "circle" else 1)
        second = (bob, alice) if way == "circle" else (alice, bob)
        children = [
            context.Process(target=transfer, args=(*locks, both, limit))
            for locks, limit in (((alice, bob), 2), (second, 60))
        ]
    else:
        lock, taken, waiting = context.Lock(), context.Event(), context.Event()
        children = [context.Process(target=keep, args=(lock, taken, 0 if way == "kept" else 60))]
    for child in children:
        child.start()
    if way == "killed":
        taken.wait()
        os.kill(children[0].pid, signal.SIGKILL)
        children[0].join()
        assert not lock.acquire(timeout=0.2)
    if way == "kept":
        children[0].join()
        assert not lock.acquire(timeout=0.2)
    if way == "stopped":
        taken.wait()
        assert not lock.acquire(timeout=0.2)
        children.append(context.Process(target=wait_for, args=(lock, waiting)))
        children[1].start()
        waiting.wait()
        time.sleep(0.1)
        for child in children:
            child.terminate()
    for child in children:
        child.join()
"""
ACROSS = pytest.mark.parametrize("method", ["fork", "spawn"])


@ACROSS
def test_deadlock_of_two_processes_names_both_processes_and_their_locks(found, method):
    ((kind, text),) = found(PROCESSES, method, "circle")
    assert kind == "wait-circle"
    child = r"process app [\w #]*\(\d+\)"
    at = r" from \+\S+ s on \(transfer, app.py:5\)"
    told = re.fullmatch(
        rf"({child}) waited \S+ \w+ for second \(transfer, app.py:7\) until its time limit passed. "
        rf"({child}) held it{at} and itself waited for another second \(transfer, app.py:7\); "
        rf"({child}) held that one{at}: a deadlock.",
        text,
    )
    assert told, text
    assert told[1] == told[3] != told[2]


@ACROSS
def test_processes_that_take_their_locks_in_one_order_have_no_finding(found, method):
    assert found(PROCESSES, method, "order") == []


@ACROSS
def test_process_that_was_killed_with_a_lock_is_named_to_those_who_wait_for_it(found, method):
    ((kind, text),) = found(PROCESSES, method, "killed")
    assert kind == "holder-ended"
    assert re.search(
        r"for lock \(<module>, app.py:\d+\) until its time limit passed. process app .*\(\d+\) held it from \+\S+ s on "
        r"\(keep, app.py:10\), died after \+\S+ s.* and never gave it back.",
        text,
    ), text


@ACROSS
def test_process_that_ended_with_a_lock_is_named_to_those_who_wait_for_it(found, method):
    ((kind, text),) = found(PROCESSES, method, "kept")
    assert kind == "holder-ended"
    assert re.search(r" process app .*\(\d+\) held it .*, ended at \+\S+ s and never gave it back.", text), text


@ACROSS
def test_processes_that_are_stopped_while_one_has_the_lock_of_the_other_did_not_leave_it(found, method):
    assert "holder-ended" not in {kind for kind, _text in found(PROCESSES, method, "stopped")}


MESSAGES = """
import multiprocessing, os, queue, signal, sys, time

def produce(items):
    time.sleep(0.2)
    items.put(1)
    time.sleep(60)

def consume(items):
    items.get()
    time.sleep(60)

if __name__ == "__main__":
    way, end = sys.argv[1:]
    context = multiprocessing.get_context("fork")
    items = context.Queue(2)
    child = context.Process(target=produce if way == "get" else consume, args=(items,))
    child.start()
    items.get() if way == "get" else items.put(1)
    while not items.empty(): time.sleep(0.01)
    time.sleep(0.2)
    if end == "killed":
        os.kill(child.pid, signal.SIGKILL)
        child.join()
    try:
        if way == "get":
            items.get(timeout=0.2)
        else:
            for item in range(3): items.put(item, timeout=0.2)
    except (queue.Empty, queue.Full):
        items.cancel_join_thread()
    child.terminate()
    child.join()
"""


@pytest.mark.parametrize(
    ("way", "did"), [("get", "the only one that had given it before"), ("put", "the only one that took items from it")]
)
def test_process_that_was_killed_is_named_to_those_who_wait_for_its_queue(found, way, did):
    ((kind, text),) = found(MESSAGES, way, "killed")
    assert kind == "giver-lost"
    assert re.search(rf" process app .*\(\d+\), {did}, died after \+\S+ s", text), text


@pytest.mark.parametrize("way", ["get", "put"])
def test_process_that_was_stopped_after_a_wait_for_its_queue_did_not_cause_the_wait(found, way):
    assert found(MESSAGES, way, "stopped") == []
