"""Actions: their records, the order of the records, and that they never disturb the program."""

from __future__ import annotations

import functools
import json
import signal
import sys
import threading
from pathlib import Path

import pytest

import clew.instrument
from clew.instrument.probes.actions import compile as actions
from clew.instrument.probes.bytecode import rewrite
from clew.instrument.probes.bytecode.rewrite import parameters
from clew.instrument.propagation import traceparent
from clew.instrument.recorder import interned_strings
from clew.instrument.recorder.core import core
from clew.records.format.event import FLAG_AMBIGUOUS, FLAG_FAILED, FLAG_TRUNCATED, Kind
from clew.records.format.keys import key_of
from clew.records.plan.plan import Action

X, Y, RESULT, EXCEPTION = ["name", "x"], ["name", "y"], ["name", "result"], ["name", "exception"]


class Record:
    def __init__(self, kind, key, channel, text, flags):
        self.kind, self.key, self.channel, self.text, self.flags = kind, key, channel, text, flags

    def __repr__(self):
        return f"{self.kind.name} {self.channel} {self.text}".rstrip() + ("!" if self.flags & FLAG_FAILED else "")


class Recorder:
    """A fake recorder: probes and `emit` write to one list."""

    def __init__(self, monkeypatch):
        self.log, self.notes, self.on = [], [], True
        monkeypatch.setattr(core, "active", lambda: self.on)
        monkeypatch.setattr(core, "emit", self.emit)
        monkeypatch.setattr(
            core, "define", lambda kind, key, text: self.notes.append(text.decode()) if kind == Kind.NOTE else None
        )

    def emit(self, kind, site, key, channel=0, text=b"", flags=0):
        names = {number: name for name, number in interned_strings._numbers.items()}
        self.log.append(Record(kind, key, names.get(channel, ""), text.decode(), flags))

    def probe(self, site, kind):
        recorder = self

        class Probe:
            def __invert__(self):
                recorder.log.append(Record(Kind(kind), 0, "", "", 0))

        return Probe()

    def load(self, source, *wanted):
        """Return the names that `source` defines; its function `f` has the actions."""

        def choose(code):
            if code.co_name != "f":
                return None
            return actions.compile_actions(1, parameters(code), "m:f", [(action, "a.esl:3") for action in wanted])

        namespace = {}
        exec(rewrite.rewrite(compile(source, "m.py", "exec"), choose, self.probe), namespace)
        return namespace

    def shown(self):
        found, self.log[:] = [repr(record) for record in self.log], []
        return found


@pytest.fixture
def recorder(monkeypatch):
    return Recorder(monkeypatch)


def test_actions_at_start_follow_enter_with_receive_and_request_first(recorder):
    wanted = [
        Action("payload", "start", "size", key=["call", "len", [X]]),
        Action("send", "start", "out", key=X),
        Action("receive", "start", "in", key=X),
        Action("request", "start", "write"),
    ]
    recorder.load("def f(x): return x", *wanted)["f"]("abc")
    assert recorder.shown() == ["ENTER", "RECEIVE in abc", "REQUEST write", "PAYLOAD size 3", "SEND out abc", "EXIT"]


def test_actions_at_finish_send_before_exit_and_receive_after(recorder):
    kinds = ["send", "receive", "join", "define", "use", "payload"]
    wanted = [Action(kind, "finish", kind, key=RESULT) for kind in kinds]
    recorder.load("def f(x): return x + 1", *wanted)["f"](1)
    assert recorder.shown() == [
        "ENTER",
        "SEND send 2",
        "DEFINE define 2",
        "PAYLOAD payload 2",
        "EXIT",
        "RECEIVE receive 2",
        "JOIN join 2",
        "USE use 2",
    ]


def test_action_key_equals_key_of_channel_and_value(recorder):
    recorder.load("def f(x): pass", Action("send", "start", "chunk", key=["tuple", [X, ["const", 1]]]))["f"]("a")
    (_, record, _) = recorder.log
    assert record.key == key_of("chunk", ("a", 1))
    assert record.flags == 0 and record.text == "('a', 1)"


def test_name_action_beyond_200_names_leaves_request_its_own_name(recorder):
    name = Action(
        "name",
        "finish",
        key=["binary", "+", ["const", "GET /"], RESULT],
        condition=["compare", "!=", RESULT, ["const", ""]],
    )
    f = recorder.load("def f(x): return x", name, Action("name", "start", channel="known"))["f"]
    f("")
    f(5)
    assert recorder.shown() == ["ENTER", "NAME known", "EXIT", "ENTER", "NAME known", "NAME  TypeError!", "EXIT"]
    recorder.log.clear()
    for number in range(205):
        f(f"{number}")
    names = [record.channel for record in recorder.log if record.kind == Kind.NAME and record.channel != "known"]
    assert names == [f"GET /{number}" for number in range(200)] and any("200 names" in note for note in recorder.notes)


def test_action_key_of_object_is_its_address_and_marked_ambiguous(recorder):
    run = recorder.load(
        "def f(x): pass", Action("send", "start", "job", key=X), Action("receive", "start", "job", key=["tuple", [X]])
    )["f"]
    first, second = object(), object()
    for value in (first, second, first):
        run(value)
    keys = [(record.kind, record.key) for record in recorder.log if record.channel]
    assert keys[0] == keys[4] and keys[1] == keys[5] and len(set(keys)) == 4
    assert all(record.flags == FLAG_AMBIGUOUS for record in recorder.log if record.channel)


def test_receive_action_with_each_records_one_cause_per_item(recorder):
    run = recorder.load("def f(x): pass", Action("receive", "start", "m", key=X, each=True))["f"]
    run([1, 2])
    assert recorder.shown() == ["ENTER", "RECEIVE m 1", "RECEIVE m 2", "EXIT"]
    run(())
    assert recorder.shown() == ["ENTER", "EXIT"]
    run(5)
    assert recorder.shown() == ["ENTER", "RECEIVE m TypeError!", "EXIT"]


def test_action_condition_decides_whether_it_records(recorder):
    run = recorder.load(
        "def f(x): pass", Action("send", "start", "m", key=X, condition=["compare", ">", X, ["const", 1]])
    )["f"]
    run(1)
    run(2)
    assert recorder.shown() == ["ENTER", "EXIT", "ENTER", "SEND m 2", "EXIT"]


OURS = str(Path(clew.instrument.__file__).parent) + "/"
ENDS = [
    (Action("send", "finish", "m", key=X), True, True),
    (Action("send", "finish", "m", key=RESULT), True, False),
    (Action("payload", "finish", "m", key=EXCEPTION), False, True),
    (Action("payload", "finish", "m", key=["tuple", [RESULT, EXCEPTION]]), True, True),
    (Action("send", "finish", "m", key=X, condition=["compare", "is", EXCEPTION, ["const", None]]), True, False),
    (Action("send", "finish", "m", key=X, condition=["compare", "is not", EXCEPTION, ["const", None]]), False, True),
    (Action("send", "finish", "m", key=X, condition=["compare", "is", RESULT, ["const", None]]), True, False),
    (Action("entity", "finish", "m", event="deletion", values=(X,)), True, True),
]


@pytest.mark.parametrize("action, returns, raises", ENDS, ids=range(len(ENDS)))
def test_finish_action_is_recorded_only_at_ends_that_have_its_values(recorder, action, returns, raises):
    run = recorder.load("def f(x):\n    if x: raise KeyError(x)\n", action)["f"]
    run(0)
    assert len(recorder.shown()) == 2 + returns
    with pytest.raises(KeyError):
        run(1)
    assert len(recorder.log) == 2 + raises
    assert recorder.log[-1].kind is Kind.UNWIND
    assert not any(record.flags & FLAG_FAILED for record in recorder.log)


def test_payload_action_records_exception(recorder):
    run = recorder.load("def f(x): return 1 / x", Action("payload", "finish", "error", key=EXCEPTION))["f"]
    with pytest.raises(ZeroDivisionError):
        run(0)
    assert recorder.shown() == ["ENTER", "PAYLOAD error ZeroDivisionError('division by zero')", "UNWIND"]


def test_action_with_failing_expression_records_the_error(recorder):
    class Loud:
        @property
        def id(self):
            raise SystemExit("the program's code ran")

    run = recorder.load("def f(x): return x", Action("send", "start", "m", key=["attr", X, "id"]))["f"]
    for value in (Loud(), 5):
        run(value)
    assert recorder.shown() == ["ENTER", "SEND m TypeError!", "EXIT", "ENTER", "SEND m AttributeError!", "EXIT"]
    assert not recorder.notes


def test_payload_action_truncates_text_at_its_limit(recorder):
    recorder.load("def f(x): pass", Action("payload", "start", "p", key=X, limit=5))["f"]("abcdefgh")
    assert recorder.log[1].text == "abcde" and recorder.log[1].flags == FLAG_TRUNCATED


def test_action_name_this_means_the_first_parameter(recorder):
    source = "class C:\n    def f(self, x): self.n = x\nc = C()\nc.f(3)"
    recorder.load(source, Action("define", "finish", "n", key=["attr", ["name", "this"], "n"]))
    assert recorder.shown() == ["ENTER", "DEFINE n 3", "EXIT"]


def test_action_reads_parameter_of_closure_from_its_cell(recorder):
    source = "def f(x):\n    def g():\n        nonlocal x\n        x += 1\n    g()\n    return 0\nf(1)"
    recorder.load(source, Action("send", "start", "m", key=X), Action("send", "finish", "m", key=X))
    assert recorder.shown() == ["ENTER", "SEND m 1", "SEND m 2", "EXIT"]


def test_action_with_deleted_cell_records_name_error(recorder):
    source = "def f(x):\n    def g():\n        nonlocal x\n        del x\n    g()\n    return 0\nf(1)"
    recorder.load(source, Action("send", "finish", "m", key=X))
    assert recorder.shown() == ["ENTER", "SEND m NameError!", "EXIT"]


@pytest.mark.parametrize(
    "source, action, reason",
    [
        ("def f(y): pass\nf(1)", Action("send", "start", "m", key=X), "no parameter `x`; known parameters: y"),
        (
            "def f(): pass\nf()",
            Action("send", "start", "m", key=["name", "this"]),
            "it has no parameter that could be `this`",
        ),
        (
            "def f(x):\n    del x\nf(1)",
            Action("send", "finish", "m", key=X),
            "`x` may be deleted before the call ends; record it at `start`",
        ),
        (
            "def f(x):\n    try: 1 / 0\n    except ZeroDivisionError as x: pass\nf(1)",
            Action("send", "finish", "m", key=X),
            "`x` may be deleted before the call ends",
        ),
        ("def f(x): pass\nf(1)", Action("send", "start", "m", key=["name", "result"]), "no parameter `result`"),
    ],
)
def test_action_that_function_cannot_fulfil_is_left_out_with_a_note(recorder, source, action, reason):
    recorder.load(source, action)
    assert recorder.shown() == ["ENTER", "EXIT"]
    assert len(recorder.notes) == 1
    assert recorder.notes[0].startswith("a.esl:3: send is not recorded at m:f: ") and reason in recorder.notes[0]


def test_start_action_reads_parameter_deleted_later(recorder):
    recorder.load("def f(x):\n    del x\nf(1)", Action("send", "start", "m", key=X))
    assert recorder.shown() == ["ENTER", "SEND m 1", "EXIT"]


def test_entity_action_records_json(recorder):
    class Node:
        pass

    node = Node()
    action = Action("entity", "start", "Chunk", event="position", values=(X, Y, ["const", 1.5], ["const", None]))
    recorder.load("def f(x, y): pass", action)["f"](node, 'a"b' + "c" * 500)
    assert recorder.log[1].kind is Kind.ENTITY and recorder.log[1].channel == "Chunk"
    assert json.loads(recorder.log[1].text) == {
        "event": "position",
        "entity": "Chunk",
        "values": [{"class": "Node", "id": id(node)}, ('a"b' + "c" * 500)[:200], 1.5, None],
    }


def test_inject_and_extract_actions_call_traceparent(recorder, monkeypatch):
    seen = []
    monkeypatch.setattr(traceparent, "inject_into", lambda carrier, site=0: seen.append(("inject", carrier, site)) or 1)
    monkeypatch.setattr(
        traceparent, "extract_from", lambda carrier, site=0: seen.append(("extract", carrier, site)) or 0
    )
    headers = {}
    recorder.load("def f(x): pass", Action("inject", "start", carrier=X), Action("extract", "start", carrier=X))["f"](
        headers
    )
    assert seen == [("extract", headers, 1), ("inject", headers, 1)]


def test_action_outside_a_recording_evaluates_no_expression(recorder):
    run = recorder.load("def f(x): return x", Action("send", "start", "m", key=["unsafe", ["method", X, "boom", []]]))[
        "f"
    ]
    recorder.on = False
    assert run(1) == 1
    assert recorder.shown() == ["ENTER", "EXIT"]


def test_action_interrupted_by_signal_handler_raises_its_exception(recorder, monkeypatch):
    class Alarm(Exception):
        pass

    def ring(number, frame):
        raise Alarm

    def slow_key(channel, value):
        signal.raise_signal(signal.SIGUSR1)
        return 1

    monkeypatch.setattr(actions, "key_of", slow_key)
    run = recorder.load("def f(x): return x", Action("send", "start", "m", key=X))["f"]
    before = signal.signal(signal.SIGUSR1, ring)
    try:
        with pytest.raises(Alarm):
            run(1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert recorder.shown() == ["ENTER", "UNWIND"]


class Ringing:
    """A handler that is an object whose hash must not be used."""

    __hash__ = None

    def __call__(self, *arguments):
        self.ring(*arguments)

    def ring(self, number, frame):
        raise SystemExit(number)


def raising(number, frame):
    raise TimeoutError


@pytest.mark.parametrize(
    "handler, error",
    [
        (signal.default_int_handler, KeyboardInterrupt),
        (raising, TimeoutError),
        (functools.partial(raising), TimeoutError),
        (Ringing().ring, SystemExit),
        (Ringing(), SystemExit),
    ],
)
def test_unsafe_action_interrupted_by_signal_handler_raises_its_exception(recorder, handler, error):
    class Slow:
        def key(self):
            return signal.raise_signal(signal.SIGINT)

    run = recorder.load("def f(x): return x", Action("send", "start", "m", key=["unsafe", ["method", X, "key", []]]))[
        "f"
    ]
    before = signal.signal(signal.SIGINT, handler)
    try:
        with pytest.raises(error):
            run(Slow())
    finally:
        signal.signal(signal.SIGINT, before)
    assert recorder.shown() == ["ENTER", "UNWIND"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, TimeoutError, BaseException])
def test_unsafe_action_error_of_program_code_is_recorded_not_raised(recorder, error):
    class Odd:
        def key(self):
            raise error

    run = recorder.load("def f(x): return x", Action("send", "start", "m", key=["unsafe", ["method", X, "key", []]]))[
        "f"
    ]
    run(Odd())
    assert recorder.shown() == ["ENTER", f"SEND m {error.__name__}!", "EXIT"]


def test_action_that_exceeds_recursion_limit_does_not_raise(recorder):
    namespace = recorder.load(
        "def f(x): return x\ndef deep(n):\n    try: return deep(n + 1)\n    except RecursionError: return f(n)\n",
        Action("send", "start", "m", key=["call", "len", [X]]),
    )
    assert namespace["deep"](0) > 50


def test_action_is_invisible_to_settrace(recorder):
    run = recorder.load("def f(x): return x", Action("payload", "finish", "p", key=RESULT))["f"]
    files = set()

    def tracer(frame, event, argument):
        files.add(frame.f_code.co_filename)
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        run(1)
    finally:
        sys.settrace(before)
    assert "PAYLOAD p 1" in recorder.shown()
    assert not any(file.startswith(OURS) for file in files)


def test_action_records_in_every_thread(recorder):
    run = recorder.load("def f(x): return x", Action("send", "start", "m", key=X))["f"]
    threads = [threading.Thread(target=run, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(record.text for record in recorder.log if record.kind is Kind.SEND) == list("01234")
