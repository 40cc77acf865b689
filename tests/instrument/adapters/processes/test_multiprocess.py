"""multiprocessing and process pools: each received object is joined to the call that sent it, for every start method."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.records.format.event import Kind
from clew.records.format.header import State

METHODS = pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])


def steps(run, channel):
    """Count the edges of a channel, with the innermost name of nested functions."""
    short = Counter()
    for source, target in run.pairs(channel):
        short[
            source.function.rpartition(".")[2] or source.strand, target.function.rpartition(".")[2] or target.strand
        ] += 1
    return short


@METHODS
def test_multiprocessing_messages_join_the_calls_that_sent_them(record, method):
    run = record(
        """
        import multiprocessing, pickle, sys

        class Stubborn:
            def __reduce__(self): raise ValueError("not to be sent")

        def child(queue, simple, joinable, pipe):
            def put_many():
                for item in (None, None, 7, 7, b"x" * 100_000, Stubborn(), "last"): queue.put(item)
            put_many()
            def put_simple(): simple.put({"a": 1})
            put_simple()
            def put_refused():
                try: simple.put(Stubborn())
                except ValueError: pass
                try: pipe.send(Stubborn())
                except ValueError: pass
            put_refused()
            def put_joinable(): joinable.put(5)
            put_joinable()
            joinable.join()
            def send():
                pipe.send("hello")
                pipe.send_bytes(pickle.dumps("raw"))
                pipe.send(b"y" * 200_000)
            send()
            def answer(): pipe.send(pipe.recv() + 1)
            answer()

        def main(context):
            queue, simple, joinable = context.Queue(), context.SimpleQueue(), context.JoinableQueue()
            here, there = context.Pipe()
            process = context.Process(target=child, args=(queue, simple, joinable, there))
            def start(): process.start()
            start()
            def get_two(): assert (queue.get(), queue.get(timeout=60)) == (None, None)
            get_two()
            def get_rest(): assert [queue.get() for _ in range(4)] == [7, 7, b"x" * 100_000, "last"]
            get_rest()
            def get_simple(): assert simple.get() == {"a": 1}
            get_simple()
            def get_joinable(): assert joinable.get() == 5; joinable.task_done()
            get_joinable()
            def receive():
                assert here.recv() == "hello"
                assert here.recv_bytes(30) == pickle.dumps("raw")
                assert here.recv() == b"y" * 200_000
            receive()
            def ask(): here.send(41); assert here.recv() == 42
            ask()
            def join(): process.join()
            join()

        if __name__ == "__main__": main(multiprocessing.get_context(sys.argv[1]))
        """,
        method,
    )
    assert run.code == 0, run.stderr
    assert run.stderr.count("ValueError: not to be sent") == 1  # from the queue's feeder thread, as without clew
    assert steps(run, "multiprocessing.queue") == Counter(
        {
            ("put_many", "get_two"): 2,
            ("put_many", "get_rest"): 4,
            ("put_simple", "get_simple"): 1,
            ("put_joinable", "get_joinable"): 1,
        }
    )
    assert steps(run, "multiprocessing.pipe") == Counter(
        {("send", "receive"): 2, ("ask", "answer"): 1, ("answer", "ask"): 1}
    )
    (child,) = {source.process.header.uid for source, target in run.pairs() if target.channel == "process.end"}
    (start,) = (pair for pair in run.pairs("process.start") if pair[1].process.header.uid == child)
    assert start[0].function.endswith("start")
    assert start[1].process.header.parent_uid == start[0].process.header.uid
    assert start[0].process.header.uid != child
    assert steps(run, "process.end") == Counter({("MainThread", "join"): 1})
    assert {process.header.state for process in run.processes} == {State.CLOSED}
    # The n-th item put is the n-th item got.
    got = [source for source, target in run.pairs() if target.function.endswith(("get_two", "get_rest"))]
    sent = [placed for placed in run.of(Kind.SEND) if placed.channel == "multiprocessing.queue"]
    put = [placed for placed in sent if placed.function.endswith("put_many")]
    assert [placed.key for placed in got] == [placed.key for place, placed in enumerate(put) if place != 5]


def test_multiprocessing_unrecorded_receiver_gets_the_same_objects(record):
    run = record(
        """
        import multiprocessing.connection, os, subprocess, sys

        listener = multiprocessing.connection.Listener(authkey=b"k")
        child = subprocess.Popen([sys.executable, "-S", "child.py", listener.address])
        with listener.accept() as pipe:
            for item in (None, b"x" * 100_000, {"a": [1]}): pipe.send(item)
            assert [pipe.recv() for _ in range(3)] == [None, b"x" * 100_000, {"a": [1]}]
        assert child.wait() == 0
        """,
        files={
            "child.py": """
            import multiprocessing.connection, pickle, sys

            with multiprocessing.connection.Client(sys.argv[1], authkey=b"k") as pipe:
                assert not any(name.startswith("clew") for name in sys.modules)
                pipe.send(pipe.recv())
                pipe.send(pickle.loads(pipe.recv_bytes()))
                pipe.send(pipe.recv())
            """
        },
    )
    assert run.code == 0, run.stderr
    assert len(run.processes) == 1
    assert steps(run, "multiprocessing.pipe") == Counter()


@METHODS
def test_manager_proxy_call_has_edges_to_the_server_and_back(record, method):
    run = record(
        """
        import multiprocessing, sys

        def child(shared):
            def put(): shared["x"] = 1
            put()

        if __name__ == "__main__":
            context = multiprocessing.get_context(sys.argv[1])
            manager = context.Manager()
            shared = manager.dict()
            process = context.Process(target=child, args=(shared,))
            process.start()
            process.join()
            def look(): assert shared["x"] == 1
            look()
            def fail():
                try: shared["y"]
                except KeyError: pass
            fail()
            manager.shutdown()
        """,
        method,
    )
    assert run.code == 0, run.stderr
    edges = Counter()
    for (source, target), count in steps(run, "multiprocessing.manager").items():
        edges["server" if "Thread" in source else source, "server" if "Thread" in target else target] += count
    ways = ("put", "look", "fail")
    assert edges == Counter([pair for way in ways for pair in ((way, "server"), ("server", way))])
    kinds = {
        target.event.kind
        for _, target in run.pairs()
        if target.channel == "multiprocessing.manager" and target.function
    }
    assert kinds == {Kind.JOIN}


POOL = """
    import multiprocessing, os, sys, threading, time
    from concurrent.futures import ProcessPoolExecutor

    class Stubborn:
        def __reduce__(self): raise ValueError("not to be sent")
    def square(x): return x * x
    def fails(x): raise KeyError(x)
    def stubborn(x): return Stubborn()
    def outcome(take, *arguments):
        try: return take(*arguments)
        except Exception as error: return type(error).__name__
    """


@METHODS
def test_multiprocessing_pool_joins_calls_runs_and_results(record, method):
    run = record(
        POOL
        + """
    def items():
        def produce(): pass
        for number in range(3):
            produce()
            yield number
    called = threading.Event()
    def callback(_): called.set()

    def main(context):
        with context.Pool(2) as pool:
            def apply(): assert pool.apply(square, (3,)) == 9
            apply()
            def mapped(): assert pool.map(square, range(4), chunksize=2) == [0, 1, 4, 9]
            mapped()
            def each(): assert list(pool.imap(square, items())) == [0, 1, 4]
            each()
            def unordered(): assert sorted(pool.imap_unordered(square, items())) == [0, 1, 4]
            unordered()
            def ask(): return pool.apply_async(square, (5,), callback=callback)
            answer = ask()
            called.wait()
            def take(): assert answer.get() == 25
            take()
            def nothing(): assert pool.map(square, []) == []
            nothing()
            def failing(): assert outcome(pool.apply, fails, (1,)) == "KeyError"
            failing()
            def not_back(): assert outcome(pool.apply, stubborn, (1,)) == "MaybeEncodingError"
            not_back()
            def not_there(): assert outcome(pool.apply, square, (Stubborn(),)) == "ValueError"
            not_there()
            pool.close()
            pool.join()

    if __name__ == "__main__": main(multiprocessing.get_context(sys.argv[1]))
    """,
        method,
    )
    assert run.code == 0, run.stderr
    names = {"Thread-1": "workers", "Thread-2": "tasks", "Thread-3": "results", "MainThread": "worker"}
    edges = Counter()
    for (source, target), count in steps(run, "multiprocessing.pool").items():
        edges[names.get(source.split()[0], source), names.get(target.split()[0], target)] += count
    calls = {"apply": 1, "mapped": 2, "ask": 1, "outcome": 2}
    taken = {"apply": 1, "mapped": 1, "each": 3, "unordered": 3, "take": 1, "outcome": 2}
    back = edges.pop(("worker", "results"), 0) + edges.pop(("square", "results"), 0)
    # A result that could not be sent back has a SEND without a receiver.
    assert back == 12
    assert edges == Counter(
        {
            **{(call, "worker"): count for call, count in calls.items()},
            **{("results", call): count for call, count in taken.items()},
            ("each", "tasks"): 3,
            ("unordered", "tasks"): 3,
            ("tasks", "worker"): 6,
            ("tasks", "outcome"): 1,
            ("results", "results"): 1,  # the second part of the map, after the first
        }
    )


@METHODS
def test_process_pool_executor_joins_submits_runs_and_results(record, method):
    run = record(
        POOL
        + """
    def done(future): future.result()
    def square_later(x):
        while not os.path.exists("now"): time.sleep(0.001)
        return x * x

    def main(context):
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            def submit(): return pool.submit(square_later, 3)
            future = submit()
            future.add_done_callback(done)
            open("now", "w").close()
            def take(): assert future.result() == 9
            take()
            def mapped(): assert list(pool.map(square, range(4), chunksize=2)) == [0, 1, 4, 9]
            mapped()
            def failing(): assert outcome(pool.submit(fails, 1).result) == "KeyError"
            failing()
            def not_back(): assert outcome(pool.submit(stubborn, 1).result) == "ValueError"
            not_back()
            def not_there(): assert outcome(pool.submit(square, Stubborn()).result) == "ValueError"
            not_there()

    if __name__ == "__main__": main(multiprocessing.get_context(sys.argv[1]))
    """,
        method,
    )
    assert run.code == 0, run.stderr
    calls = {"submit": 1, "mapped": 2, "failing": 1, "not_back": 1}  # and one submit that cannot be sent
    assert steps(run, "executor.submit") == Counter({(call, "MainThread"): count for call, count in calls.items()})
    results = Counter()
    for (source, target), count in steps(run, "executor.result").items():
        results[source.split("-")[0], target.split("-")[0]] += count
    assert results == Counter(
        {
            ("MainThread", "Thread"): 5,
            ("Thread", "take"): 1,
            ("Thread", "Thread"): 1,  # the callback
            ("Thread", "done"): 1,
            ("Thread", "mapped"): 2,
            ("Thread", "outcome"): 2,
            ("QueueFeederThread", "outcome"): 1,
        }
    )
    # A call runs in the scope that its own submit opened.
    scopes = [placed for placed in run.of(Kind.SCOPE_BEGIN, Kind.SCOPE_END) if placed.channel == "executor.submit"]
    assert [placed.event.kind for placed in scopes] == [Kind.SCOPE_BEGIN, Kind.SCOPE_END] * 5
    assert steps(run, "multiprocessing.queue") == steps(run, "multiprocessing.pipe") == Counter()


def test_pool_replaced_worker_is_caused_by_the_process_that_replaced_it(record):
    run = record(
        POOL
        + """
    if __name__ == "__main__":
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as pool:
            def twice(): assert [pool.submit(square, n).result() for n in (2, 3)] == [4, 9]
            twice()
        with context.Pool(1, maxtasksperchild=1) as pool:
            def both(): assert pool.map(square, [2, 3], chunksize=1) == [4, 9]
            both()
            pool.close()
            pool.join()
    """
    )
    assert run.code == 0, run.stderr
    assert steps(run, "executor.submit") == Counter({("twice", "MainThread"): 2})
    assert steps(run, "multiprocessing.pool")["both", "MainThread"] == 2
    taken = run.pairs("executor.submit", "multiprocessing.pool")
    workers = {target.process.header.pid for _, target in taken if str(target) == "MainThread"}
    assert len(workers) == 4
    for source, target in run.pairs("process.start"):
        assert target.process.header.parent_uid == source.process.header.uid


def test_thread_pool_of_multiprocessing_has_no_process_edges(record):
    run = record(
        """
        from multiprocessing.pool import ThreadPool

        def square(x): return x * x
        with ThreadPool(1) as pool:
            def apply(): assert pool.apply(square, (3,)) == 9
            apply()
            pool.close()
            pool.join()
        """
    )
    assert run.code == 0, run.stderr
    assert len(run.processes) == 1
    edges = {(source.split()[0], target.split()[0]) for source, target in steps(run, "multiprocessing.pool")}
    assert edges == {("Thread-4", "apply")}


def test_multiprocessing_keys_are_invisible_to_the_program(record):
    source = """
        import collections, multiprocessing, pickle
        from multiprocessing.reduction import ForkingPickler

        queue = multiprocessing.Queue()
        here, there = multiprocessing.Pipe()
        print(ForkingPickler.dumps([1]).tobytes() == pickle.dumps([1]), type(ForkingPickler.dumps([1])))
        print(isinstance(queue._buffer, collections.deque), vars(here).keys() >= {"_handle"}, repr(here)[:30])
        there.send([1]); print(here.recv_bytes() == pickle.dumps([1]))
        there.send([1]); print(here.recv_bytes_into(bytearray(100)) == len(pickle.dumps([1])))
        try: here.recv_bytes(-1)
        except ValueError as error: print(error)
        queue.put(2); print(queue.get(), queue.empty()); queue.close()
        here.close()
        for call in (here.recv, lambda: here.send(1), queue.get):
            try: call()
            except (OSError, ValueError) as error: print(type(error), str(error)[:20])
        """
    traced, plain = record(source), record(source, environment={"CLEW_RUN": "", "PYTHONPATH": ""})
    assert (traced.code, traced.stdout, traced.stderr) == (plain.code, plain.stdout, plain.stderr)
    assert traced.code == 0, plain.stderr
