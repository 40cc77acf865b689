"""Threads: who starts one is the cause of its first step, its end the cause of what follows a join."""

from __future__ import annotations

from collections import Counter

from clew.records.format.event import Kind


def test_a_started_thread_is_caused_by_its_starter_and_a_join_by_its_end(record):
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


def test_a_threads_first_record_is_its_cause_and_its_definition_has_its_name(record):
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


def test_a_thread_started_by_a_thread_is_caused_by_that_thread(record):
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


def test_a_join_that_times_out_has_no_cause(record):
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


def test_a_timer_and_a_subclass_are_threads_like_others(record):
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


def test_an_uncaught_exception_in_a_thread_prints_the_same_as_untraced(record):
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


def test_thread_methods_look_and_fail_as_ever(record):
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
