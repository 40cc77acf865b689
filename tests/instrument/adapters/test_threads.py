"""Threads: the starting call causes a thread's first record, and the thread's end causes the call that joins it."""

from __future__ import annotations

from collections import Counter

from clew.records.format.event import Kind


def test_thread_start_causes_the_thread_and_its_end_causes_join(record):
    run = record(
        """
        import threading

        def work(): pass

        def main():
            workers = [threading.Thread(target=work, name=name) for name in ("a", "b")]
            for worker in workers: worker.start()
            for worker in workers: worker.join()

        main()
        """
    )
    assert run.code == 0
    assert run.edges() == Counter(
        {
            ("thread.start", "MainThread/main", "a"): 1,
            ("thread.start", "MainThread/main", "b"): 1,
            ("thread.join", "a", "MainThread/main"): 1,
            ("thread.join", "b", "MainThread/main"): 1,
        }
    )


def test_thread_begins_with_its_cause_and_its_definition_has_its_name(record):
    run = record(
        """
        import threading

        def work(): pass

        worker = threading.Thread(target=work, name="named", daemon=True)
        worker.start()
        worker.join()
        """
    )
    (process,) = run.processes
    (thread,) = [thread for thread in process.threads.values() if thread.name == "named"]
    assert thread.daemon and thread.native_id
    kinds = [event.kind for event in process.events(thread.serial)]
    assert kinds == [Kind.JOIN, Kind.ENTER, Kind.EXIT, Kind.SEND]


def test_thread_started_by_a_thread_is_caused_by_that_thread(record):
    run = record(
        """
        import threading

        def inner(): pass

        def outer():
            worker = threading.Thread(target=inner, name="inner")
            worker.start()
            worker.join()

        worker = threading.Thread(target=outer, name="outer")
        worker.start()
        worker.join()
        """
    )
    assert run.edges() == Counter(
        {
            ("thread.start", "MainThread", "outer"): 1,
            ("thread.start", "outer/outer", "inner"): 1,
            ("thread.join", "inner", "outer/outer"): 1,
            ("thread.join", "outer", "MainThread"): 1,
        }
    )


def test_thread_join_that_times_out_has_no_cause(record):
    run = record(
        """
        import threading

        release = threading.Event()
        worker = threading.Thread(target=release.wait, name="slow")
        worker.start()
        worker.join(0.01)
        release.set()
        """
    )
    assert run.edges() == Counter({("thread.start", "MainThread", "slow"): 1})


def test_timer_and_thread_subclass_have_edges_of_threads(record):
    run = record(
        """
        import threading

        class Worker(threading.Thread):
            def run(self): pass

            def join(self):
                super().join()

        def ring(): pass

        worker = Worker(name="worker")
        worker.start()
        worker.join()
        timer = threading.Timer(0.001, ring)
        timer.name = "timer"
        timer.start()
        timer.join()
        """
    )
    assert run.edges() == Counter(
        {
            ("thread.start", "MainThread", "worker"): 1,
            ("thread.join", "worker", "MainThread/Worker.join"): 1,
            ("thread.start", "MainThread", "timer"): 1,
            ("thread.join", "timer", "MainThread"): 1,
        }
    )


def test_thread_uncaught_exception_prints_as_untraced(record):
    source = """
        import threading

        def work(): raise ValueError("no")

        worker = threading.Thread(target=work, name="worker")
        worker.start()
        worker.join()
        """
    traced = record(source)
    untraced = record(source, environment={"CLEW_RUN": ""})
    assert "ValueError: no" in traced.stderr
    assert traced.stderr == untraced.stderr
    assert traced.edges("thread.join") == Counter({("thread.join", "worker", "MainThread"): 1})


def test_thread_methods_have_attributes_and_errors_of_untraced_ones(record):
    run = record(
        """
        import inspect, pickle, threading

        print(inspect.signature(threading.Thread.join), threading.Thread.start.__qualname__)
        assert pickle.loads(pickle.dumps(threading.Thread.start)) is threading.Thread.start
        try:
            threading.Thread().join()
        except RuntimeError as error:
            print(error)
        worker = threading.Thread()
        worker.start()
        try:
            worker.start()
        except RuntimeError as error:
            print(error)
        """
    )
    assert run.stdout.splitlines() == [
        "(self, timeout=None) Thread.start",
        "cannot join thread before it is started",
        "threads can only be started once",
    ]
