"""Random programs behave equally with and without probes, and their events nest."""

from __future__ import annotations

import sys
import textwrap
import traceback

import hypothesis.strategies as st
from hypothesis import HealthCheck, given, settings

from tests.support.examples import examples

NAMES = ["a", "b", "c"]
expressions = st.recursive(
    st.sampled_from([*NAMES, "0", "1", "2", "n"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "//", "%"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(inner, st.sampled_from(["<", "==", "and", "or"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda e: f"(lambda: {e})()"),
        inner.map(lambda e: f"sum([{e} for _ in range(2)])"),
        inner.map(lambda e: f"helper({e})"),
    ),
    max_leaves=5,
)


def indented(lines):
    return textwrap.indent("\n".join(lines) or "pass", "    ")


def blocks(inner):
    body = st.lists(inner, min_size=1, max_size=3).map(indented)
    error = st.sampled_from(["ZeroDivisionError", "KeyError", "Exception", "GeneratorExit"])
    return st.one_of(
        st.tuples(expressions, body).map(lambda t: f"if {t[0]}:\n{t[1]}"),
        st.tuples(expressions, body, body).map(lambda t: f"if {t[0]}:\n{t[1]}\nelse:\n{t[2]}"),
        st.tuples(body, body).map(lambda t: f"for i in range(3):\n{t[0]}\nelse:\n{t[1]}"),
        st.tuples(body).map(lambda t: f"for i in range(2):\n{t[0]}\n    if i: continue\n    break"),
        st.tuples(body, error, body).map(lambda t: f"try:\n{t[0]}\nexcept {t[1]}:\n{t[2]}"),
        st.tuples(body, error, body).map(lambda t: f"try:\n{t[0]}\nexcept {t[1]} as c:\n{t[2]}"),
        st.tuples(body, body).map(lambda t: f"try:\n{t[0]}\nfinally:\n{t[1]}"),
        body.map(lambda b: f"with Guard(n):\n{b}"),
    )


simple = st.one_of(
    st.tuples(st.sampled_from(NAMES), expressions).map(lambda t: f"{t[0]} = {t[1]}"),
    expressions.map(lambda e: f"return {e}"),
    expressions.map(lambda e: f"log.append({e})"),
    st.sampled_from(["raise KeyError(a)", "raise", "del b", "pass"]),
)
yielding = st.one_of(
    simple,
    expressions.map(lambda e: f"b = yield {e}"),
    expressions.map(lambda e: f"log.append((yield {e}))"),
    expressions.map(lambda e: f"c = yield from helpers({e})"),
)
plain_bodies = st.lists(st.recursive(simple, blocks, max_leaves=8), min_size=1, max_size=5).map(indented)
yielding_bodies = st.lists(st.recursive(yielding, blocks, max_leaves=8), min_size=1, max_size=5).map(indented)

PRELUDE = """
log = []
class Guard:
    def __init__(self, n): self.n = n
    def __enter__(self): return self
    def __exit__(self, kind, error, tb): return bool(self.n) and kind is KeyError
def helper(x):
    return x + 1
def helpers(x):
    try:
        got = yield x
        yield got
    except KeyError:
        yield "caught"
    return 5
"""


def outcome(call):
    try:
        return "value", repr(call())
    except (Exception, GeneratorExit) as error:
        frames = [
            (frame.name, frame.lineno, frame.end_lineno, frame.colno, frame.end_colno)
            for frame in traceback.extract_tb(error.__traceback__)
        ]
        return type(error).__name__, str(error), frames[1:], repr(error.__context__), error.__suppress_context__


def drive(generator, steps):
    found = []
    for step in steps:
        found.append(
            outcome(
                {
                    "next": lambda: next(generator),
                    "send": lambda: generator.send(3),
                    "throw": lambda: generator.throw(KeyError(1)),
                    "stop": lambda: generator.throw(StopIteration(2)),
                    "close": generator.close,
                }[step]
            )
        )
    found.append(outcome(generator.close))
    return found


def assert_nested(log):
    """Assert that calls nest and end once; a suspended call may be resumed or ended by a thrown exception."""
    stack, waiting = [], []
    for line in log:
        kind, name = line.split(" ", 1)
        if kind == "ENTER":
            stack.append(name)
        elif kind == "RESUME":
            assert name in waiting, log
            waiting.remove(name)
            stack.append(name)
        else:
            if not stack or stack[-1] != name:  # an exception was thrown in: the call resumed without a record
                assert name in waiting, log
                waiting.remove(name)
            else:
                stack.pop()
            if kind == "SUSPEND":
                waiting.append(name)
    assert not stack, log


slow = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@slow
@given(plain_bodies, st.integers(0, 2))
def test_random_functions_with_probes_have_the_same_outcome(trace, body, n):
    source = f"{PRELUDE}\ndef f(n, a=1, b=2, c=0):\n{body}\n"
    results = []
    for traced in False, True:
        trace.take()
        namespace = trace.load(source, traced=traced)
        results.append((outcome(lambda: namespace["f"](n)), repr(namespace["log"])))
    assert results[0] == results[1]
    assert_nested(trace.take())


@slow
@given(
    yielding_bodies,
    st.integers(0, 2),
    st.lists(st.sampled_from(["next", "next", "send", "throw", "stop", "close"]), max_size=6),
)
def test_random_generators_with_probes_have_the_same_outcome(trace, body, n, steps):
    source = f"{PRELUDE}\ndef f(n, a=1, b=2, c=0):\n{body}\n    yield\n"
    results = []
    for traced in False, True:
        trace.take()
        namespace = trace.load(source, traced=traced)
        generator = namespace["f"](n)
        results.append((drive(generator, steps), repr(namespace["log"])))
        del generator
    assert results[0] == results[1]
    assert_nested(trace.take())


@slow
@given(plain_bodies, st.integers(0, 2))
def test_random_functions_with_probes_look_the_same_to_settrace(trace, body, n):
    source = f"{PRELUDE}\ndef f(n, a=1, b=2, c=0):\n{body}\n"
    seen = []
    for traced in False, True:
        namespace = trace.load(source, traced=traced)
        events = []

        def tracer(frame, event, argument):
            if frame.f_code.co_filename == "program.py":
                events.append((frame.f_code.co_name, event, frame.f_lineno))
            return tracer

        before = sys.gettrace()
        sys.settrace(tracer)
        try:
            outcome(lambda: namespace["f"](n))
        finally:
            sys.settrace(before)
        seen.append(events)
    assert seen[0] == seen[1]
