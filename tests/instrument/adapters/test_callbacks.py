"""Signal handlers, exit functions, finalizers, scheduled actions, contexts: the interrupted code does not cause callbacks."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.records.format.event import Kind


@pytest.fixture
def callbacks(record):
    def run(source, adapters=("threads", "callbacks"), **options):
        result = record(source, adapters=adapters, **options)
        assert result.code == 0, result.stderr
        return result

    return run


def scopes(run):
    """Return channel and functions of each explicit scope, in order."""
    found, open_ = [], []
    for placed in run.events:
        if placed.event.kind == Kind.SCOPE_BEGIN:
            open_.append((placed.channel, []))
            found.append(open_[-1])
        elif placed.event.kind == Kind.SCOPE_END:
            open_.pop()
        elif placed.event.kind == Kind.ENTER and open_:
            open_[-1][1].append(placed.function)
    assert not open_
    return found


def test_signal_handler_scope_has_a_cause_only_in_its_own_process(callbacks):
    run = callbacks(
        """
        import os, signal, subprocess, sys

        got = []
        def handler(number, frame): got.append(number)
        def raises(): signal.raise_signal(signal.SIGUSR1)
        def kills(): os.kill(os.getpid(), signal.SIGUSR1)
        def kills_thread(): signal.pthread_kill(signal.pthread_self() if hasattr(signal, "pthread_self") else
                                                __import__("threading").main_thread().ident, signal.SIGUSR1)
        def fails():
            try: os.kill(os.getpid(), 10**6)
            except OSError: pass
        def asks_another():
            subprocess.run(["kill", "-USR1", str(os.getpid())], check=True)
            while len(got) < 4: pass

        signal.signal(signal.SIGUSR1, handler)
        assert signal.getsignal(signal.SIGUSR1) is handler
        raises(); kills(); kills_thread(); fails(); asks_another()
        assert signal.signal(signal.SIGUSR1, signal.SIG_DFL) is handler
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert len(got) == 4
        """
    )
    assert run.edges() == Counter(
        {
            ("signal", "MainThread/raises", "MainThread/raises"): 1,
            ("signal", "MainThread/kills", "MainThread/kills"): 1,
            ("signal", "MainThread/kills_thread", "MainThread/kills_thread"): 1,
        }
    )
    assert scopes(run) == [("signal", ["handler"])] * 4


def test_signal_module_routines_have_signal_as_module(callbacks):
    callbacks(
        """
        import inspect, signal

        routines = [value for value in vars(signal).values() if inspect.isroutine(value) and not inspect.isbuiltin(value)]
        assert routines and {routine.__module__ for routine in routines} == {"signal"}
        """
    )


def test_atexit_function_is_caused_by_its_registration(callbacks):
    run = callbacks(
        """
        import atexit

        def bye(word, *, by=""): print(word + by)
        def gone(): print("never")
        def setup():
            assert atexit.register(bye, "first") is bye
            assert atexit.register(bye, "second", by="-named") is bye

        @atexit.register
        def decorated(): print("decorated")

        def cleanup():
            atexit.register(gone)
            atexit.register(gone)
            atexit.unregister(gone)

        setup(); cleanup()
        """
    )
    assert run.stdout.split() == ["second-named", "first", "decorated"]
    assert run.edges() == Counter(
        {("atexit", "MainThread/setup", "MainThread"): 2, ("atexit", "MainThread", "MainThread"): 1}
    )
    assert scopes(run) == [("atexit", ["bye"]), ("atexit", ["bye"]), ("atexit", ["decorated"])]


def test_atexit_function_that_fails_is_reported_as_untraced(record):
    source = """
        import atexit

        class Fails:
            def __call__(self): 1 / 0
            def __repr__(self): return "<Fails>"

        atexit.register(Fails())
        """
    traced, untraced = record(source, adapters=("callbacks",)), record(source, environment={"CLEW_RUN": ""})
    assert traced.stderr == untraced.stderr != ""
    assert "<Fails>" in traced.stderr
    assert traced.code == untraced.code


def test_garbage_collector_callbacks_run_in_gc_scope_without_cause(callbacks):
    run = callbacks(
        """
        import gc, weakref
        gc.disable()

        class Node:
            def __init__(self): self.me = self
            def __del__(self): deleted()

        class Plain:
            def __init__(self): self.me = self

        def deleted(): pass
        def called_back(reference): pass
        def finalized(): pass
        def noticed(phase, info): pass
        def make():
            node, plain = Node(), Plain()
            weakref.finalize(plain, finalized)
            return weakref.ref(node, called_back)

        def collect(): gc.collect()
        def after(): pass

        gc.callbacks.append(noticed)
        gc.collect()
        reference = make()
        collect()
        gc.callbacks.remove(noticed)
        gc.collect()
        after()
        """
    )
    labelled = scopes(run)
    # The first collection ran only the program's callback; the last one ran no recorded code and leaves no record.
    assert labelled[0] == ("gc", ["noticed", "noticed"])
    second, nested = labelled[1], labelled[2:]
    assert second[0] == "gc" and sorted(second[1]) == ["Node.__del__", "called_back", "deleted", "noticed", "noticed"]
    assert nested == [("finalize", ["finalized"])]
    assert run.edges() == Counter({("finalize", "MainThread/make", "MainThread/collect"): 1})


def test_weakref_callback_is_a_call_of_the_code_that_dropped_the_object(callbacks):
    run = callbacks(
        """
        import threading, weakref

        class Node:
            def __del__(self): deleted()

        def deleted(): pass
        def called_back(reference): pass
        def make(): return Node()
        def watch(node): return weakref.ref(node, called_back)
        def drop(): nodes.clear()

        nodes = [make()]
        watcher = threading.Thread(target=lambda: references.append(watch(nodes[0])), name="watcher")
        references = []
        watcher.start()
        watcher.join()
        drop()
        assert references[0]() is None
        """
    )
    assert run.edges("finalize", "gc") == Counter() and scopes(run) == []
    path, inside = [], {}
    for placed in run.events:
        if placed.event.kind == Kind.ENTER:
            inside[placed.function] = list(path)
            path.append(placed.function)
        elif placed.event.kind == Kind.EXIT:
            path.pop()
    assert inside["called_back"] == ["drop"] and inside["deleted"] == ["drop", "Node.__del__"]


def test_finalizer_is_caused_by_dropping_and_by_creating_code(callbacks):
    run = callbacks(
        """
        import weakref

        class Thing: pass
        def finalized(): pass
        def make(thing): return weakref.finalize(thing, finalized)
        def drop(things): things.clear()
        def call(finalizer): finalizer()

        things = [Thing()]
        first = make(things[0])
        drop(things)
        call(first)
        thing = Thing()
        second = make(thing)
        call(second)
        third = make(thing)
        third.detach()
        """
    )
    assert run.edges() == Counter(
        {
            ("finalize", "MainThread/drop", "MainThread/drop"): 1,
            ("finalize", "MainThread/make", "MainThread/drop"): 1,
            ("finalize", "MainThread/call", "MainThread/call"): 1,
            ("finalize", "MainThread/make", "MainThread/call"): 1,
        }
    )
    assert scopes(run) == [("finalize", ["finalized"])] * 2


def test_sched_action_is_caused_by_its_enter_call(callbacks):
    run = callbacks(
        """
        import sched, time

        scheduler = sched.scheduler(time.monotonic, time.sleep)
        def first(): nested()
        def second(): raise ValueError
        def third(): pass
        def one(): scheduler.enter(0.02, 1, third)
        def two(): scheduler.enter(0, 1, first)
        def three(): scheduler.enter(0, 2, second)
        def never(): scheduler.cancel(scheduler.enter(0, 1, print))
        def nested():
            inner = sched.scheduler(time.monotonic, time.sleep)
            inner.enter(0, 1, third)
            inner.run()
        def run():
            try: scheduler.run()
            except ValueError: pass
            scheduler.run()

        one(); two(); three(); never(); run()
        assert scheduler.delayfunc is time.sleep and scheduler.empty()
        """
    )
    assert run.edges() == Counter(
        {
            ("sched", "MainThread/two", "MainThread/run"): 1,
            ("sched", "MainThread/nested", "MainThread/nested"): 1,
            ("sched", "MainThread/three", "MainThread/run"): 1,
            ("sched", "MainThread/one", "MainThread/run"): 1,
        }
    )
    assert scopes(run) == [
        ("sched", ["first", "nested"]),
        ("sched", ["third"]),
        ("sched", ["second"]),
        ("sched", ["third"]),
    ]


def test_context_run_depends_on_the_call_that_copied_the_context(callbacks):
    run = callbacks(
        """
        import asyncio, contextvars, threading

        variable = contextvars.ContextVar("variable", default=0)
        def work(): assert variable.get() == 1
        def copy():
            variable.set(1)
            return contextvars.copy_context()
        def make(): return contextvars.Context()
        def run(context): context.run(work)

        contexts = [copy() for _ in range(100)]
        context = contexts[50]
        del contexts
        worker = threading.Thread(target=run, args=(context,), name="worker")
        worker.start()
        worker.join()
        for _ in range(200):
            make().run(print, end="")

        async def main(): await asyncio.sleep(0)
        asyncio.run(main())
        """,
        adapters=("threads", "tasks", "callbacks"),
    )
    assert run.edges("context") == Counter({("context", "MainThread/copy", "worker/run"): 1})


def test_callbacks_adapter_imports_no_modules(callbacks):
    run = callbacks("import sys; print(*sys.modules)", rules=False)
    assert not {"sched", "asyncio"} & set(run.stdout.split())
