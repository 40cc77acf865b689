"""Probes are invisible inside the program: tracebacks, tracing, `inspect`, warnings, stack overflow, interrupts."""

from __future__ import annotations

import dis
import inspect
import os
import pickle
import signal
import sys
import traceback
import types
import warnings

import pytest

VERSION = sys.version_info[:2]


FAILING = """
def inner(a, b):
    return [a,
            (1 + 2) / b,
            a]

class Suite:
    def method(self, value):
        try:
            return inner(value,
                         0)
        except ZeroDivisionError as error:
            raise ValueError("bad " +
                             str(value)) from error

def generator():
    yield 1
    yield Suite().method(5)

async def coroutine():
    for value in generator():
        async with Guard():
            await nothing(value)

async def nothing(value):
    return {value: value}[value]

class Guard:
    async def __aenter__(self): pass
    async def __aexit__(self, *error): pass

def main():
    try:
        coroutine().send(None)
    finally:
        len("x")
"""


def shown(namespace, file):
    try:
        namespace["main"]()
    except Exception:
        text = traceback.format_exc()
        assert file in text
        return text
    raise AssertionError("it did not fail")


def test_probes_leave_frames_lines_and_columns_of_tracebacks(trace, tmp_path):
    file = tmp_path / "failing.py"
    file.write_text(FAILING)
    plain = shown(trace.load(FAILING, traced=False, file=str(file)), str(file))
    assert shown(trace.load(FAILING, file=str(file)), str(file)) == plain
    assert any("^^^" in line for line in plain.splitlines())
    assert "UNWIND inner" in trace.take()


def test_probes_leave_exception_context_and_current_exception(trace):
    @trace.instrument
    def f():
        try:
            raise KeyError("first")
        except KeyError:
            raise ValueError("second")

    try:
        f()
    except ValueError as error:
        assert isinstance(error.__context__, KeyError)
        assert sys.exc_info()[1] is error
    assert sys.exc_info() == (None, None, None)


TRACED = (
    FAILING
    + """
def loops(n):
    total = 0
    for i in range(n):
        if i % 2:
            continue
        total += i
    else:
        total += 1
    while n:
        n -= 1
        if n == 1: break
    return total

def short(x): return x
pick = lambda x: x + 1

def many():
    with open(__file__) as file:
        return [short(pick(i)) for i in range(2)], file.readline()

def all_of_them():
    loops(4)
    many()
    try:
        main()
    except ValueError:
        pass
    return list(zip(generator(), (1,)))
"""
)


CLOSED = """
def closes():
    gen = generator()
    next(gen)
    gen.close()
    return next(generator())

def all_of_them():
    closes()
"""


# From 3.13 on `close()` does not run a generator without handlers; it runs one with probes, as earlier versions always did.
@pytest.mark.parametrize(
    "program", [TRACED.replace("generator(), (1,)", "(1,)"), TRACED + CLOSED][: 1 + (VERSION < (3, 13))]
)
@pytest.mark.parametrize("how", [sys.settrace, sys.setprofile])
def test_probes_are_invisible_to_settrace_and_setprofile(trace, tmp_path, how, program):
    file = tmp_path / "traced.py"
    file.write_text(program)

    def seen(namespace):
        events = []

        def tracer(frame, event, argument):
            if frame.f_code.co_filename == str(file):
                events.append((frame.f_code.co_name, event, frame.f_lineno))
            return tracer

        namespace["__file__"] = str(file)
        run = namespace["all_of_them"]
        before = sys.gettrace(), sys.getprofile()
        how(tracer)
        try:
            run()
        finally:
            sys.settrace(before[0])
            sys.setprofile(before[1])
        return events

    plain = seen(trace.load(program, traced=False, file=str(file)))
    traced = seen(trace.load(program, file=str(file)))
    # The fake probe is a Python function, whose calls a profiler sees; so only events of the program's file count.
    assert traced == plain
    assert len(plain) > 5


def test_probes_are_invisible_to_inspect(trace, tmp_path, monkeypatch):
    file = tmp_path / "inspected.py"
    file.write_text(
        "def f(a, /, b: int = 2, *c, d, **e) -> str:\n    '''Doc.'''\n    return 'x'\n\n"
        "async def co(): pass\n\ndef gen():\n    yield 1\n\nasync def agen():\n    yield 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import inspected

    source = inspect.getsource(inspected.f)
    signature = inspect.signature(inspected.f)
    for name in ("f", "co", "gen", "agen"):
        trace.instrument(getattr(inspected, name))
    assert inspect.getsource(inspected.f) == source
    assert inspect.signature(inspected.f) == signature
    assert inspected.f.__doc__ == "Doc."
    assert inspect.iscoroutinefunction(inspected.co)
    assert inspect.isgeneratorfunction(inspected.gen)
    assert inspect.isasyncgenfunction(inspected.agen)
    assert pickle.loads(pickle.dumps(inspected.f)) is inspected.f
    dis.Bytecode(inspected.f).dis()


def test_probes_leave_generator_states(trace):
    @trace.instrument
    def gen():
        yield inspect.getgeneratorstate(holder[0])

    holder = [gen()]
    assert inspect.getgeneratorstate(holder[0]) == inspect.GEN_CREATED
    assert next(holder[0]) == inspect.GEN_RUNNING
    assert inspect.getgeneratorstate(holder[0]) == inspect.GEN_SUSPENDED
    assert inspect.getgeneratorlocals(holder[0]) == {"holder": holder}
    holder[0].close()
    assert inspect.getgeneratorstate(holder[0]) == inspect.GEN_CLOSED


def test_probes_leave_cr_await_and_frame_of_coroutine(trace):
    @types.coroutine
    def pause():
        yield

    @trace.instrument
    async def outer():
        await inner

    async def work():
        await pause()

    inner = work()
    coroutine = outer()
    coroutine.send(None)
    assert coroutine.cr_await is inner
    assert coroutine.cr_frame.f_lineno == outer.__code__.co_firstlineno + 2
    coroutine.close()
    inner.close()


def test_probes_leave_stacklevel_of_warnings(trace):
    @trace.instrument
    def old():
        warnings.warn("old", DeprecationWarning, stacklevel=2)

    @trace.instrument
    def caller():
        old()

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        caller()
    assert caught[0].lineno == caller.__code__.co_firstlineno + 2
    assert caught[0].filename == __file__


def test_probes_record_unwind_of_every_call_at_recursion_limit(trace):
    namespace = trace.load("def f(n): return f(n + 1)\n")
    with pytest.raises(RecursionError):
        namespace["f"](0)
    log = trace.take()
    assert log.count("ENTER f") > 100
    # At the limit the fake probe, a Python method, has no stack left either; the recorder's probe needs none.
    assert abs(log.count("ENTER f") - log.count("UNWIND f")) <= 3


def test_probes_record_unwind_at_keyboard_interrupt(trace):
    @trace.instrument
    def wait():
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1_000_000_000):
            pass

    with pytest.raises(KeyboardInterrupt):
        wait()
    assert [line.split()[0] for line in trace.take()] == ["ENTER", "UNWIND"]
