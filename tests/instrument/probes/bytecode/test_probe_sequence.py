"""Actions called by rewritten functions: their arguments, and the ends of calls at which they run."""

from __future__ import annotations

import types

import pytest

from clew.instrument.probes.bytecode.rewrite import Call, parameters


def action(trace, name):
    def call(*arguments):
        opened = [item.cell_contents if isinstance(item, types.CellType) else item for item in arguments]
        trace.log.append(f"{name} {opened}")

    return call


def every_call(trace):
    def calls(code):
        numbers = tuple(parameter.position for parameter in parameters(code).values())
        names = ("start", "before_exit", "after_exit", "before_unwind", "after_unwind")
        return {name: Call(action(trace, name), numbers) for name in names}

    return calls


CALLS = {
    "a return": (
        "def f(a, *b, **c): return a + 1\nf(1, 2, d=3)",
        [
            "ENTER f",
            "start [1, (2,), {'d': 3}]",
            "before_exit [2, 1, (2,), {'d': 3}]",
            "EXIT f",
            "after_exit [2, 1, (2,), {'d': 3}]",
        ],
    ),
    "a constant": (
        "def f(a):\n    a = 5\nf(1)",
        ["ENTER f", "start [1]", "before_exit [None, 5]", "EXIT f", "after_exit [None, 5]"],
    ),
    "an exception": (
        "def f(a): raise KeyError(a)\ntry: f(1)\nexcept KeyError: pass",
        ["ENTER f", "start [1]", "before_unwind [KeyError(1), 1]", "UNWIND f", "after_unwind [KeyError(1), 1]"],
    ),
    "a parameter in a cell": (
        "def f(a, b):\n    g = lambda: a\n    a += 1\n    return b\nf(1, 2)",
        ["ENTER f", "start [1, 2]", "before_exit [2, 2, 2]", "EXIT f", "after_exit [2, 2, 2]"],
    ),
    "a generator": (
        "def f(a):\n    yield a\n    return 7\nlist(f(1))",
        ["ENTER f", "start [1]", "SUSPEND f", "RESUME f", "before_exit [7, 1]", "EXIT f", "after_exit [7, 1]"],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_actions_receive_parameters_and_result_of_the_call(name, trace):
    source, expected = CALLS[name]
    trace.calls = every_call(trace)
    trace.load(source)
    assert [line for line in trace.take() if "<lambda>" not in line and "start []" not in line] == expected


def test_action_interrupted_after_exit_adds_no_second_end(trace):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    trace.calls = lambda code: {"after_exit": Call(interrupt, ())}
    namespace = trace.load("def f(): return 1\ndef g():\n    try: return f()\n    finally: pass\n")
    with pytest.raises(KeyboardInterrupt):
        namespace["f"]()
    assert trace.take() == ["ENTER f", "EXIT f"]
    trace.calls = lambda code: {"before_exit": Call(interrupt, ())}
    namespace = trace.load("def f(): return len('x')\n")
    with pytest.raises(KeyboardInterrupt):
        namespace["f"]()
    assert trace.take() == ["ENTER f", "UNWIND f"]
