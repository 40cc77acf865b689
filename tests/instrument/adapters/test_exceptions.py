"""Exceptions as facts: type, message, traceback, causes, and who ended by them, without running the program's code."""

from __future__ import annotations

import pytest

from clew.records.format.event import Kind
from clew.records.format.facts import Exception_, load
from clew.records.plan.plan import Redact


def exceptions(run):
    """The type, the role and the text of each EXCEPTION."""
    return [(fact.channel, load(Exception_, fact.text)) for fact in run.of(Kind.EXCEPTION)]


def told(run):
    return [(channel, text.role, text.message) for channel, text in exceptions(run)]


@pytest.fixture
def facts(record):
    def run(source, **options):
        return record(source, adapters=("threads", "tasks", "exceptions"), **options)

    return run


def test_exception_leaves_two_calls_is_recorded_once_with_its_traceback(facts):
    run = facts(
        """
        def price(sku): return {}[sku]
        def order(): return price("sku-7")
        try: order()
        except KeyError: pass
        """
    )
    ((channel, text),) = exceptions(run)
    assert (channel, text.role, text.message) == ("KeyError", "raised", "'sku-7'")
    assert [(frame.line, frame.function) for frame in text.at] == [(2, "price")]


def test_exception_raised_from_another_names_its_cause(facts):
    run = facts(
        """
        def order():
            try: {}["sku-7"]
            except KeyError as error: raise RuntimeError("failed") from error
        try: order()
        except RuntimeError: pass
        """
    )
    assert told(run) == [("KeyError", "context", "'sku-7'"), ("RuntimeError", "raised", "failed")]
    cause, error = run.of(Kind.EXCEPTION)
    assert load(Exception_, error.text).cause == cause.key


@pytest.mark.parametrize(("arguments", "message"), [
    ("", ""), ("'a'", "a"), ("1, 'a', None", "(1, 'a', None)"), ("Order()", "<Order>"), ("(1, (b'x',))", "(1, (b'x',))"),
    ("Text('secret')", "<Text>"), ("'a' * 300", "a" * 199 + "…"), ("10 ** 5000", "<int>"), ("'\\udc80'", "\\udc80"),
])  # fmt: skip
def test_message_is_made_of_builtin_values_only(facts, arguments, message):
    run = facts(
        f"""
        class Order:
            def __repr__(self): raise SystemExit(1)
        class Text(str):
            __str__ = __repr__ = Order.__repr__
        class Failed(Exception):
            __str__ = __repr__ = Order.__repr__
        def work(): raise Failed({arguments})
        try: work()
        except Failed: pass
        """
    )
    assert (run.code, told(run)) == (0, [("__main__.Failed", "raised", message)])


def test_message_of_a_system_error_names_the_file(facts):
    run = facts("def work(): open('/missing')\ntry: work()\nexcept OSError: pass")
    assert told(run) == [("FileNotFoundError", "raised", "[Errno 2] No such file or directory: '/missing'")]


def test_message_is_redacted(facts):
    source = "def work(): raise ValueError('password=hunter2')\ntry: work()\nexcept ValueError: pass"
    run = facts(source, change=lambda plan: plan._replace(redact=Redact(names=("password",))))
    assert told(run) == [("ValueError", "raised", "password=<redacted>")]


def test_log_line_in_a_handler_follows_the_exception_that_is_handled(facts):
    run = facts(
        """
        import logging
        def work():
            try: 1 / 0
            except ZeroDivisionError:
                logging.warning("one")
                logging.warning("two")
            logging.warning("three")
        work()
        """
    )
    kinds = [fact.event.kind for fact in run.events if fact.event.kind in (Kind.EXCEPTION, Kind.LOG)]
    assert kinds == [Kind.EXCEPTION, Kind.LOG, Kind.EXCEPTION, Kind.LOG, Kind.LOG]
    assert [text.role for _, text in exceptions(run)] == ["handled", "handled"]
    assert len({fact.key for fact in run.of(Kind.EXCEPTION)}) == 1


def test_thread_that_dies_is_ended_by_its_exception(facts):
    run = facts(
        """
        import threading
        threading.excepthook = lambda arguments: None
        def dies(): raise ValueError("bad")
        thread = threading.Thread(target=dies)
        thread.start(); thread.join()
        """
    )
    assert told(run) == [("ValueError", "raised", "bad"), ("ValueError", "ended", "bad")]


def test_program_that_dies_is_ended_by_its_exception(facts):
    run = facts("def dies(): raise ValueError('bad')\ndies()")
    assert run.code == 1
    assert told(run) == [("ValueError", "raised", "bad"), ("ValueError", "ended", "bad")]


def test_task_that_nobody_awaits_has_an_exception_that_was_never_retrieved(facts):
    run = facts(
        """
        import asyncio, logging
        logging.disable()
        async def dies(): raise ValueError("bad")
        async def main():
            task = asyncio.create_task(dies())
            await asyncio.sleep(0.01)
        asyncio.run(main())
        """
    )
    assert ("ValueError", "unretrieved", "bad") in told(run)


def test_cancellation_that_leaves_a_call_is_an_exception_and_an_exit(facts):
    run = facts(
        """
        import asyncio
        async def waits(): await asyncio.sleep(9)
        async def main():
            task = asyncio.create_task(waits())
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        asyncio.run(main())
        """
    )
    assert ("asyncio.CancelledError", "raised", "") in told(run)
    assert not run.of(Kind.UNWIND)


def test_ends_of_iterations_are_no_exceptions(facts):
    run = facts(
        """
        class Three:
            n = 0
            def __iter__(self): return self
            def __next__(self):
                self.n += 1
                if self.n > 3: raise StopIteration
                return self.n
        def some():
            yield 1
            yield 2
        list(Three())
        next(some()); some().close()
        """
    )
    assert told(run) == []


def test_exceptions_in_a_loop_are_bounded_and_the_rest_is_a_gap(facts):
    run = facts(
        """
        def fails(): raise ValueError("again")
        for _ in range(5000):
            try: fails()
            except ValueError: pass
        """
    )
    assert len(run.of(Kind.UNWIND)) == 5000
    assert len({fact.key for fact in run.of(Kind.EXCEPTION)}) == len(run.of(Kind.EXCEPTION)) >= 1000
    ended = [gap for gap in run.of(Kind.GAP) if gap.key]
    assert len(run.of(Kind.EXCEPTION)) + sum(gap.key for gap in ended) == 5000


def test_exception_object_shows_no_trace_of_its_key(facts):
    run = facts(
        """
        import copy, pickle, sys
        def work(error): raise error
        for error in (ValueError("x"), MemoryError(), OSError(2, "no"), StopAsyncIteration()):
            state, size = vars(error).copy(), sys.getsizeof(error)
            try: work(error)
            except BaseException as caught: assert caught is error
            assert (vars(error), sys.getsizeof(error)) == (state, size)
            assert repr(pickle.loads(pickle.dumps(error))) == repr(copy.copy(error)) == repr(error)
        """
    )
    assert (run.code, run.stderr) == (0, "")
    assert len(told(run)) >= 3
