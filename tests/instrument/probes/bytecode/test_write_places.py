"""Probes before writes: each is told the object and the value, and the program's results are unchanged."""

from __future__ import annotations

import sys
import textwrap
from collections import deque
from typing import Any

import pytest

from clew.instrument.probes.bytecode.rewrite import GivenProbe, Probes, StateProbes, WriteProbe, rewrite
from clew.instrument.probes.bytecode.write_places import given, places
from clew.records.format.states import Form

NO_VALUE = "no value"
BOUNDS = (slice(1, None),) if sys.version_info < (3, 12) else ()
TELLS_ARGUMENTS = sys.version_info < (3, 13)


class _Probe:
    def __init__(self, log: list[tuple[Any, ...]], what: str) -> None:
        self._log, self._what, self._item = log, what, ()

    def __delitem__(self, item: Any) -> None:
        if self._what.startswith("given"):
            content = item.cell_contents if type(item).__name__ == "cell" else item
            self._log.append((self._what, type(content).__name__))
        else:
            self._item = (item,)

    def __setitem__(self, owner: Any, value: Any) -> None:
        name = "cell" if type(owner).__name__ == "cell" else "probe" if owner is self else type(owner).__name__
        self._log.append((self._what, name, *self._item, NO_VALUE if value is self else value))
        self._item = ()


def traced(source: str) -> tuple[Any, list[tuple[Any, ...]]]:
    """Run a source with probes in its functions and return its `result`, which must be that of the plain source."""
    code = compile(textwrap.dedent(source), "program.py", "exec")
    plain: dict[str, Any] = {"deque": deque}
    exec(code, plain)
    log: list[tuple[Any, ...]] = []

    def choose(found: Any) -> Probes:
        writes = tuple(
            WriteProbe(place, _Probe(log, Form(place.form).name if place.form == Form.ITEM else place.name))
            for place in places(found)
        )
        objects = tuple(GivenProbe(each, _Probe(log, f"given {each.name}")) for each in given(found))
        return Probes(0, states=StateProbes(writes, objects))

    namespace: dict[str, Any] = {"deque": deque}
    exec(rewrite(code, choose, lambda _site, _kind: None), namespace)
    assert repr(namespace["result"]) == repr(plain["result"])
    return namespace["result"], log


def written(source: str) -> list[tuple[Any, ...]]:
    return [entry for entry in traced(source)[1] if not entry[0].startswith("given")]


OBJECT = "class Box: pass\nbox = Box()\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("box.n = 3", [("n", "Box", 3)]),
        ("box.n = 1; box.n += 4", [("n", "Box", 1), ("n", "Box", 5)]),
        ("box.a = box.b = 7", [("a", "Box", 7), ("b", "Box", 7)]),
        ("box.a, box.b = 1, 2", [("a", "Box", 1), ("b", "Box", 2)]),
        ("box.n = 1; del box.n", [("n", "Box", 1), ("n", "Box", NO_VALUE)]),
        ("setattr(box, 'n', 3 + 1)", [("setattr()", "Box", "n", 4)]),
        ("object.__setattr__(box, 'n', 3 + 1)", [("setattr()", "Box", "n", 4)]),
        ("box.__dict__['n'] = 8", [("n", "Box", 8), ("ITEM", "dict", "n", 8)]),
        ("Box.n = 2", [("n", "type", 2)]),
        ("for box.n in range(2): pass", [("n", "Box", 0), ("n", "Box", 1)]),
        ("d = {}; d['a'] = 1", [("ITEM", "dict", "a", 1)]),
        ("d = {'a': 1}; d['a'] += 1", [("ITEM", "dict", "a", 2)]),
        ("d = {'a': 1}; del d['a']", [("ITEM", "dict", "a", NO_VALUE)]),
        ("d = {'a': {}}; d['a']['b'] = 5", [("ITEM", "dict", "b", 5)]),
        ("x = [1, 2, 3]; x[1:] = []", [("ITEM", "list", *BOUNDS, [])]),
        ("global g\n    g = 4", [("g", "probe", 4)]),
        ("with open('/dev/null') as box.file: pass\n    box.file = 0", None),
    ],
)
def test_assignment_tells_object_and_value(body: str, expected: list[tuple[Any, ...]] | None) -> None:
    found = written(f"{OBJECT}def f():\n    {body}\nf()\nresult = vars(box).keys()")
    if expected is None:
        assert [entry[:2] for entry in found] == [("file", "Box"), ("file", "Box")]
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        ("x.append(5)", 5),
        ("x.append(max(1, len('ab')))", 2),
        ("x.append([y for y in (1, 2)])", -1),
        ("x.insert(0, 9)", NO_VALUE),
        ("x.clear()", NO_VALUE),
        ("x.sort(key=lambda n: -n)", -1),
        ("x.append(1 if x else 2)", NO_VALUE),
    ],
)
def test_method_tells_container_and_its_only_argument(call: str, argument: object) -> None:
    found = [
        entry for entry in written(f"def f(x):\n    {call}\n    return x\nresult = f([3, 1])") if entry[1] == "list"
    ]
    name = call[2:].partition("(")[0]
    assert [entry[:2] for entry in found] == [(name, "list")]
    if TELLS_ARGUMENTS and argument != -1:
        assert found[0][2] == argument


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        ("heapq.heappush(x, 5)", 5),
        ("heapq.heapify(x)", NO_VALUE),
        ("heapq.heappushpop(x, 1)", 1),
        ("insort(x, 2)", 2),
        ("insort(x, 2, 0, 1)", NO_VALUE),
        ("random.shuffle(x)", NO_VALUE),
    ],
)
def test_function_that_changes_a_list_tells_it(call: str, argument: object) -> None:
    imports = "import heapq, random\nfrom bisect import insort\n"
    found = written(f"{imports}def f(x):\n    {call}\n    return sorted(x)\nresult = f([3, 4])")
    assert found == [(call.partition("(")[0].rpartition(".")[2], "list", argument)]


def test_context_variable_tells_its_value_and_an_event_is_left_alone() -> None:
    source = """
    import contextvars, threading
    name, event = contextvars.ContextVar("name"), threading.Event()
    def f():
        token = name.set(4); event.set(); name.reset(token)
        return name.get(7)
    result = f()
    """
    found = [entry[:2] for entry in written(source) if entry[1] == "ContextVar"]
    assert found == [("set", "ContextVar"), ("reset", "ContextVar")]


def test_method_of_another_object_is_called_as_before() -> None:
    source = """
    class Log:
        def __init__(self): self.append = [].append
        def update(self, **given): return given
    def f(log): return log.append(1), log.update(a=2)
    result = f(Log())
    """
    assert ("update", "Log", NO_VALUE) in [(*entry[:2], NO_VALUE) for entry in written(source)]


def test_closure_variable_is_told_by_its_cell() -> None:
    source = """
    def f():
        n = 0
        def bump():
            nonlocal n
            n += 1
        bump(); bump()
        return n
    result = f()
    """
    assert [entry for entry in written(source) if entry[1] == "cell"] == [
        ("n", "cell", 0), ("n", "cell", 1), ("n", "cell", 2),
    ]  # fmt: skip


def test_objects_that_a_function_reads_are_told_at_its_start() -> None:
    source = """
    class Cart:
        def __init__(self, limit): self.limit = limit
        def total(self, prices): return sum(prices[s] for s in self.names())
        def names(self): return ["a"]
        def is_full(self): return self.limit < 1
    def f(cart, other): return cart.limit, cart.total({"a": 2}), other
    cart = Cart(3)
    result = f(cart, 1), cart.is_full()
    """
    told = [entry for entry in traced(source)[1] if entry[0].startswith("given")]
    assert told == [
        ("given self", "Cart"), ("given cart", "Cart"), ("given prices", "dict"), ("given self", "Cart"),
    ]  # fmt: skip


def test_generators_async_functions_and_handlers_run_as_before() -> None:
    source = """
    import asyncio
    class Box: pass
    def numbers(box):
        try:
            for box.n in range(3):
                yield box.n
        finally:
            box.closed = True
    async def work(box, items):
        for n in numbers(box):
            await asyncio.sleep(0)
            items.append(n)
            try:
                box.part = 1 / n
            except ZeroDivisionError as error:
                box.error = type(error)
        return vars(box), items
    result = asyncio.run(work(Box(), []))
    """
    found = [entry[0] for entry in written(source)]
    assert (
        found.count("append") == 3 and found.count("part") == 2 and found.count("error") == found.count("closed") == 1
    )


def test_code_with_many_constants_and_long_jumps_runs_as_before() -> None:
    body = "\n".join(f"        if n == {number}: box.v{number} = {number}.5" for number in range(400))
    source = (
        f"class Box: pass\ndef f(box):\n    for n in range(400):\n{body}\n    return len(vars(box))\nresult = f(Box())"
    )
    assert len(written(source)) == 400
