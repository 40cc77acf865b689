"""Functions written in C are recorded by the same rules as others, and look and behave unchanged."""

from __future__ import annotations

import zlib

import pytest

from clew.records.format.event import FLAG_FAILED, Kind
from clew.records.plan.plan import Action

LOOKS = """
import copy, functools, inspect, pickle, sys, traceback, types, zlib
from zlib import compress as alias
print(isinstance(zlib.compress, types.BuiltinFunctionType), inspect.isbuiltin(zlib.compress), callable(zlib.compress))
print(inspect.isroutine(zlib.compress), inspect.signature(zlib.compress), repr(zlib.compress), str(zlib.compress))
print(alias.__name__, alias.__qualname__, alias.__module__, alias.__self__, alias.__doc__[:9])
print(alias is zlib.compress, alias == zlib.compress, hash(alias) == hash(zlib.compress), {alias: 1}[zlib.compress])
print(pickle.loads(pickle.dumps(zlib.compress)) is zlib.compress, copy.copy(alias) is alias, copy.deepcopy([alias])[0] is alias)
print(pickle.loads(pickle.dumps(functools.partial(zlib.compress, b'x')))() == zlib.compress(b'x'))
print(zlib.decompress(zlib.compress(b'data', level=9)), list(map(zlib.crc32, [b'a', b'b'])))
print(sorted([b'b', b'a'], key=zlib.crc32), functools.reduce(zlib.adler32 and (lambda a, b: a + b), [1, 2]))
def failing(data):
    return zlib.decompress(data)
try:
    failing(b'not packed')
except zlib.error:
    traceback.print_exc(file=sys.stdout)
for wrong in (lambda: zlib.compress(), lambda: zlib.compress('text'), lambda: zlib.compress(b'', nothing=1)):
    try: wrong()
    except TypeError as error: print(error)
"""

METHODS = """
import copy, inspect, pickle, random, _random
class Mine(_random.Random):
    def getrandbits(self, k): return super().getrandbits(k) + 1
one = _random.Random(1)
print(one.getrandbits(8), _random.Random.getrandbits(one, 8), Mine(1).getrandbits(8), random.Random(1).getrandbits(8))
print(inspect.signature(_random.Random.getrandbits), one.getrandbits.__name__, one.getrandbits.__self__ is one)
print(inspect.ismethoddescriptor(_random.Random.getrandbits), one.getrandbits == one.getrandbits)
print(repr(_random.Random.getrandbits), [name for name in dir(one) if not name.startswith('_')])
try: one.getrandbits('x')
except TypeError as error: print(error)
bits = one.getrandbits
print([bits(4) for _ in range(3)], list(map(bits, [2, 2])))
"""


@pytest.mark.parametrize(("source", "module"), [(LOOKS, "zlib"), (METHODS, "_random")])
def test_wrapped_c_function_looks_and_behaves_as_before(workshop, scope, source, module):
    workshop.write(app=source)
    plain = workshop.plain("app.py")
    assert plain.returncode == 0, plain.stderr
    run = workshop.recorded([scope(module), scope("app")], "app.py")
    assert (run.out, run.err, run.done.returncode) == (plain.stdout, plain.stderr, 0)
    assert any(site.startswith(f"{module}:") for site in run.functions())


def test_wrapped_c_function_records_begin_and_end_of_calls(workshop, scope):
    workshop.write(
        app="import zlib\ndef f(data):\n    try: return zlib.decompress(data)\n    except zlib.error: return None\n"
        "f(zlib.compress(b'x'))\nf(b'wrong')\n"
    )
    run = workshop.recorded([scope("zlib", "*compress"), scope("app")], "app.py")
    assert run.calls() == [
        "ENTER zlib:compress", "EXIT zlib:compress",
        "ENTER app:f", "ENTER zlib:decompress", "EXIT zlib:decompress", "EXIT app:f",
        "ENTER app:f", "ENTER zlib:decompress", "UNWIND zlib:decompress", "EXIT app:f",
    ]  # fmt: skip
    (site,) = {found for found in run.records.processes[0].sites.values() if found.qualname == "compress"}
    assert (site.kind, site.file, site.rule) == ("builtin", "", 0)


def test_wrapped_c_function_that_raises_stop_iteration_has_not_failed(workshop, scope):
    workshop.write(
        app="import _functools\ndef stop(*given): raise StopIteration\ntry: _functools.reduce(stop, [1, 2])\n"
        "except StopIteration: pass\n"
    )
    run = workshop.recorded([scope("_functools", "reduce")], "app.py")
    assert run.calls() == ["ENTER _functools:reduce", "EXIT _functools:reduce"]


def test_late_import_of_wrapped_c_function_gets_the_wrapper(workshop, scope):
    """The standard library imports `_json.scanstring` under another name."""
    workshop.write(app="import json\nprint(json.loads('[\"a\"]'), json.decoder.scanstring('a\"', 0))\n")
    run = workshop.recorded([scope("_json", "scanstring")], "app.py")
    assert run.out == "['a'] ('a', 2)\n"
    assert run.calls() == ["ENTER _json:scanstring", "EXIT _json:scanstring"]


def test_wrapped_c_function_actions_read_parameters_results_and_exceptions(workshop, scope):
    workshop.write(
        app="import zlib\nzlib.crc32(b'a', 5)\nzlib.crc32(b'b')\ntry: zlib.decompress(b'')\nexcept zlib.error: pass\n"
    )
    payload = [
        Action("payload", "start", "data", key=["name", "data"]),
        Action("payload", "start", "value", key=["name", "value"]),
        Action("send", "finish", "sum", key=["name", "result"]),
    ]
    fails = [
        Action("payload", "finish", "why", key=["name", "exception"]),
        Action("payload", "start", "odd", key=["binary", "+", ["name", "wbits"], ["const", "x"]]),
    ]
    run = workshop.recorded([scope("zlib", "crc32", *payload), scope("zlib", "decompress", *fails)], "app.py")
    (found,) = run.records.processes
    said = [
        (
            Kind(event.kind).name,
            found.strings[event.extension.channel],
            event.extension.text,
            bool(event.extension.flags & FLAG_FAILED),
        )
        for event in found.events(1)
        if event.extension
    ]
    run_error = "error('Error -5 while decompressing data: incomplete or truncated stream')"
    assert said == [
        ("PAYLOAD", "data", "b'a'", False), ("PAYLOAD", "value", "5", False), ("SEND", "sum", str(zlib.crc32(b"a", 5)), False),
        ("PAYLOAD", "data", "b'b'", False), ("PAYLOAD", "value", "0", False), ("SEND", "sum", str(zlib.crc32(b"b")), False),
        ("PAYLOAD", "odd", "TypeError", True), ("PAYLOAD", "why", run_error, False),
    ]  # fmt: skip


def test_wrapped_c_function_action_with_unknown_parameter_is_noted(workshop, scope):
    workshop.write(app="import zlib\nzlib.crc32(b'a')\n")
    run = workshop.recorded(
        [scope("zlib", "crc32", Action("payload", "start", "x", key=["name", "nothing"]))], "app.py"
    )
    assert any("payload is not recorded at zlib:crc32: no parameter `nothing`" in note for note in run.notes())
    assert run.calls() == ["ENTER zlib:crc32", "EXIT zlib:crc32"]


def test_immutable_c_class_is_not_wrapped_and_noted_once(workshop, scope):
    workshop.write(app="import _datetime\nprint(_datetime.datetime(2020, 1, 1).isoformat())\n")
    run = workshop.recorded([scope("_datetime", "datetime.*")], "app.py")
    assert run.out == "2020-01-01T00:00:00\n" and run.calls() == []
    (note,) = run.notes()
    assert "methods of _datetime:datetime cannot be recorded because the class is implemented in C" in note


def test_wrapped_c_method_is_recorded_for_subclasses(workshop, scope):
    workshop.write(app="import random\nrandom.Random(1).getrandbits(3)\n")
    run = workshop.recorded([scope("_random", "Random.getrandbits")], "app.py")
    assert {"ENTER _random:Random.getrandbits", "EXIT _random:Random.getrandbits"} == set(run.calls())


def test_wide_rule_wraps_no_c_function(workshop, scope):
    workshop.write(app="import zlib\nprint(type(zlib.compress).__name__)\nimport sys\nprint('wrapt' in sys.modules)\n")
    run = workshop.recorded([scope("**"), scope("z*")], "app.py")
    assert run.out == "builtin_function_or_method\nFalse\n"


def test_wrapped_c_function_is_invisible_to_settrace_and_setprofile(workshop, scope):
    workshop.write(
        app="import sys, zlib\nseen = []\n"
        "def tracer(frame, event, argument):\n"
        "    seen.append((frame.f_code.co_name, event, frame.f_lineno))\n    return tracer\n"
        "def f(): return zlib.crc32(b'a')\n"
        "for set_it in sys.settrace, sys.setprofile:\n    set_it(tracer)\n    f()\n    set_it(None)\n"
        "print([row for row in seen if 'c_' not in row[1]])\n"
    )
    plain, run = workshop.plain("app.py"), workshop.recorded([scope("zlib")], "app.py")
    assert run.out == plain.stdout and "ENTER zlib:crc32" in run.calls()


def test_c_function_imported_by_python_module_is_wrapped_by_full_name(workshop, scope):
    workshop.write(
        taken="from zlib import crc32 as checksum, adler32\ndef own(data): return checksum(data)\n",
        app="import json, taken\nprint(json.decoder.scanstring('a\"', 0), taken.own(b'x'), taken.adler32(b'x'))\n",
    )
    run = workshop.recorded(
        [scope("json.decoder", "scanstring"), scope("taken", "checksum"), scope("taken", "own")], "app.py"
    )
    assert run.out == "('a', 2) 2363233923 7929977\n"
    assert run.calls() == [
        "ENTER json.decoder:scanstring", "EXIT json.decoder:scanstring",
        "ENTER taken:own", "ENTER taken:checksum", "EXIT taken:checksum", "EXIT taken:own",
    ]  # fmt: skip


def test_wide_name_in_python_module_wraps_no_c_function(workshop, scope):
    workshop.write(
        taken="from zlib import crc32\ndef own(data): return crc32(data)\n",
        app="import taken\nprint(taken.own(b'x'))\n",
    )
    run = workshop.recorded([scope("taken", "*")], "app.py")
    assert run.calls() == ["ENTER taken:own", "EXIT taken:own"]


def test_sqlite3_method_of_immutable_class_is_recorded_with_parameters(workshop, scope):
    workshop.write(app="import sqlite3\nprint(sqlite3.connect(':memory:').execute('select 1').fetchall())\n")
    payload = Action("payload", "start", "sql", key=["name", "sql"])
    run = workshop.recorded([scope("_sqlite3", "Connection.execute", payload)], "app.py")
    assert run.out == "[(1,)]\n" and run.notes() == []
    assert run.calls() == [f"{kind} _sqlite3:Connection.execute" for kind in ("ENTER", "PAYLOAD", "EXIT")]
    (process,) = run.records.processes
    assert [event.extension.text for event in process.events(1) if event.extension] == ["select 1"]
