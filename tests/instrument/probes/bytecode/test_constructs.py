"""The records of rewritten functions, for each language construct."""

from __future__ import annotations

import asyncio
import gc
import textwrap

import pytest


def test_call_records_enter_and_exit(trace):
    @trace.instrument
    def f(a, b=2):
        return a + b

    assert f(1) == 3
    assert trace.take() == ["ENTER test_call_records_enter_and_exit.f", "EXIT test_call_records_enter_and_exit.f"]


PROGRAMS = {
    "falling off the end": ("def f(): pass\nresult = f()", ["ENTER f", "EXIT f"]),
    "early returns": (
        "def f(x):\n    if x: return 1\n    for i in 1, 2:\n        if i == 2: return i\nresult = f(0), f(1)",
        ["ENTER f", "EXIT f"] * 2,
    ),
    "nested calls": (
        "def g(): return 1\ndef f(): return g() + g()\nresult = f()",
        ["ENTER f", "ENTER g", "EXIT g", "ENTER g", "EXIT g", "EXIT f"],
    ),
    "an exception passes two calls": (
        "def g(): raise KeyError\ndef f(): g()\ntry: f()\nexcept KeyError: result = 1",
        ["ENTER f", "ENTER g", "UNWIND g", "UNWIND f"],
    ),
    "a caught exception ends no call": (
        "def f():\n    try: 1 / 0\n    except ZeroDivisionError: return 5\nresult = f()",
        ["ENTER f", "EXIT f"],
    ),
    "an exception out of a handler": (
        "def f():\n    try: 1 / 0\n    except ZeroDivisionError as e: raise ValueError from e\n"
        "try: f()\nexcept ValueError as e: result = type(e.__cause__)",
        ["ENTER f", "UNWIND f"],
    ),
    "finally runs inside the call": (
        "log = []\ndef g(): log.append(1)\ndef f():\n    try: return 1\n    finally: g()\nresult = f(), log",
        ["ENTER f", "ENTER g", "EXIT g", "EXIT f"],
    ),
    "finally runs before an unwind": (
        "def g(): pass\ndef f():\n    try: raise KeyError\n    finally: g()\ntry: f()\nexcept KeyError: result = 1",
        ["ENTER f", "ENTER g", "EXIT g", "UNWIND f"],
    ),
    "finally swallows an exception": (
        "def f():\n    while True:\n        try: raise KeyError\n        finally: break\n    return 1\nresult = f()",
        ["ENTER f", "EXIT f"],
    ),
    "a with block that returns": (
        "class C:\n    def __enter__(self): return 1\n    def __exit__(self, *e): return False\n"
        "def f():\n    with C() as c: return c\nresult = f()",
        ["ENTER f", "ENTER C.__enter__", "EXIT C.__enter__", "ENTER C.__exit__", "EXIT C.__exit__", "EXIT f"],
    ),
    "a with block that suppresses": (
        "class C:\n    def __enter__(self): return 1\n    def __exit__(self, *e): return True\n"
        "def f():\n    with C(): raise KeyError\n    return 2\nresult = f()",
        ["ENTER f", "ENTER C.__enter__", "EXIT C.__enter__", "ENTER C.__exit__", "EXIT C.__exit__", "EXIT f"],
    ),
    "except star": (
        "def f():\n    try: raise ExceptionGroup('g', [KeyError(), ValueError()])\n    except* KeyError: pass\n"
        "try: f()\nexcept ExceptionGroup as e: result = len(e.exceptions)",
        ["ENTER f", "UNWIND f"],
    ),
    "a lambda": ("f = lambda x: x * 2\nresult = f(2)", ["ENTER <lambda>", "EXIT <lambda>"]),
    "a closure": (
        "def f(x):\n    def g(y):\n        nonlocal x\n        x += y\n        return x\n    return g\nresult = f(1)(2)",
        ["ENTER f", "EXIT f", "ENTER f.g", "EXIT f.g"],
    ),
    "class bodies and modules are no calls": (
        "class A:\n    x = 1\n    class B:\n        def m(self): return __class__\nresult = A.B().m() is A.B",
        ["ENTER A.B.m", "EXIT A.B.m"],
    ),
    "comprehensions belong to their function": (
        "def g(x): return x\ndef f(): return [g(x) for x in (1, 2)], {g(x): 1 for x in (3,)}, list(g(x) for x in (4,))\n"
        "result = f()",
        ["ENTER f", *["ENTER g", "EXIT g"] * 4, "EXIT f"],
    ),
    "methods of all kinds": (
        "class A:\n    @staticmethod\n    def s(): return 1\n    @classmethod\n    def c(cls): return cls.s()\n"
        "    @property\n    def p(self): return super().__init__()\nresult = A.c(), A().p",
        ["ENTER A.c", "ENTER A.s", "EXIT A.s", "EXIT A.c", "ENTER A.p", "EXIT A.p"],
    ),
    "recursion": (
        "def f(n): return n and f(n - 1)\nresult = f(2)",
        ["ENTER f"] * 3 + ["EXIT f"] * 3,
    ),
    "a loop at the very start enters once": (
        "def f():\n    while True:\n        if done.pop(): return 1\ndone = [1, 0, 0]\nresult = f()",
        ["ENTER f", "EXIT f"],
    ),
    "a generator run to its end": (
        "def g():\n    x = yield 1\n    yield x\n    return 3\ni = g()\nresult = [next(i), i.send(2), next(i, 4)]",
        ["ENTER g", "SUSPEND g", "RESUME g", "SUSPEND g", "RESUME g", "EXIT g"],
    ),
    "a generator that is never started": ("def g(): yield\nresult = g().close()", []),
    "a generator thrown into before it starts": (
        "def g(): yield\ntry: g().throw(KeyError)\nexcept KeyError: result = 1",
        [],
    ),
    "a generator that is closed": (
        "def g(): yield 1\ni = g()\nnext(i)\nresult = i.close(), next(i, 7)",
        ["ENTER g", "SUSPEND g", "UNWIND g"],
    ),
    "a generator that is collected": (
        "def g():\n    try: yield 1\n    finally: log.append(1)\nlog = []\nnext(g())\nimport gc; gc.collect()\nresult = log",
        ["ENTER g", "SUSPEND g", "UNWIND g"],
    ),
    "a generator that catches what is thrown in": (
        "def g():\n    try: yield 1\n    except KeyError: yield 2\ni = g()\nnext(i)\nresult = i.throw(KeyError), list(i)",
        ["ENTER g", "SUSPEND g", "SUSPEND g", "RESUME g", "EXIT g"],
    ),
    "a generator that returns at close": (
        "def g():\n    try: yield 1\n    except GeneratorExit: return 5\ni = g()\nnext(i)\nresult = i.close() in (None, 5)",
        ["ENTER g", "SUSPEND g", "EXIT g"],
    ),
    "StopIteration out of a generator": (
        "def g():\n    yield 1\n    raise StopIteration\ntry: list(g())\n"
        "except RuntimeError as e: result = str(e), type(e.__cause__)",
        ["ENTER g", "SUSPEND g", "RESUME g", "UNWIND g"],
    ),
    "StopIteration out of a generator's handler": (
        "def g():\n    try: yield 1\n    except KeyError: raise StopIteration\ni = g()\nnext(i)\ntry: i.throw(KeyError)\n"
        "except RuntimeError as e: result = str(e)",
        ["ENTER g", "SUSPEND g", "UNWIND g"],
    ),
    "yield from suspends both": (
        "def h(): return (yield 1)\ndef g(): return (yield from h())\ni = g()\nr = next(i)\n"
        "try: i.send(5)\nexcept StopIteration as e: result = e.value",
        ["ENTER g", "ENTER h", "SUSPEND h", "SUSPEND g", "RESUME g", "RESUME h", "EXIT h", "EXIT g"],
    ),
    "a throw through yield from": (
        "def h():\n    try: yield 1\n    except KeyError: return 2\ndef g():\n    x = yield from h()\n    yield x\n"
        "i = g()\nnext(i)\nresult = i.throw(KeyError), i.gi_yieldfrom",
        ["ENTER g", "ENTER h", "SUSPEND h", "SUSPEND g", "EXIT h", "SUSPEND g", "UNWIND g"],
    ),
    "a throw through yield from that goes on": (
        "def h():\n    try: yield 1\n    except KeyError: yield 2\n    yield 3\ndef g(): yield from h()\n"
        "i = g()\nnext(i)\nresult = i.throw(KeyError), list(i)",
        [
            "ENTER g",
            "ENTER h",
            "SUSPEND h",
            "SUSPEND g",
            "SUSPEND h",
            "RESUME g",
            "RESUME h",
            "SUSPEND h",
            "SUSPEND g",
            "RESUME g",
            "RESUME h",
            "EXIT h",
            "EXIT g",
        ],
    ),
    "yield from a list closed": (
        "def g(): yield from [1, 2]\ni = g()\nnext(i)\nresult = i.gi_yieldfrom is not None, i.close()",
        ["ENTER g", "SUSPEND g", "UNWIND g"],
    ),
    "a yield with values on the stack": (
        "def g(): return [1, 2, (yield 3) + (yield 4)]\ni = g()\nresult = [next(i), i.send(5)]\n"
        "try: i.send(6)\nexcept StopIteration as e: result.append(e.value)",
        ["ENTER g", "SUSPEND g", "RESUME g", "SUSPEND g", "RESUME g", "EXIT g"],
    ),
    "a parameter that is deleted": (
        "def f(x):\n    del x\n    return 1\nresult = f(1)",
        ["ENTER f", "EXIT f"],
    ),
    "an assertion": (
        "def f(): assert 0, 'no'\ntry: f()\nexcept AssertionError as e: result = str(e)",
        ["ENTER f", "UNWIND f"],
    ),
    "a failing match": (
        "def f(x):\n    match x:\n        case [1, *rest]: return rest\n"
        "        case {'a': y}: return y\n        case _: raise KeyError\n"
        "result = f([1, 2]), f({'a': 3})\ntry: f(0)\nexcept KeyError: pass",
        ["ENTER f", "EXIT f", "ENTER f", "EXIT f", "ENTER f", "UNWIND f"],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_construct_records_its_events(name, trace):
    source, events = PROGRAMS[name]
    plain = trace.load(source, traced=False)["result"]
    result = trace.load(source)["result"]
    gc.collect()
    assert trace.take() == events
    assert repr(result) == repr(plain)


ASYNC_PROGRAMS = {
    "await of what is ready suspends nothing": (
        "async def g(): return 1\nasync def main(): return await g()",
        ["ENTER main", "ENTER g", "EXIT g", "EXIT main"],
    ),
    "await of what is not ready suspends every caller": (
        "async def g(): await asyncio.sleep(0)\nasync def main(): await g()",
        ["ENTER main", "ENTER g", "SUSPEND g", "SUSPEND main", "RESUME main", "RESUME g", "EXIT g", "EXIT main"],
    ),
    "tasks interleave": (
        "async def a(): await asyncio.sleep(0)\nasync def b(): await asyncio.sleep(0)\n"
        "async def main(): await asyncio.gather(a(), b())",
        [
            "ENTER main",
            "SUSPEND main",
            "ENTER a",
            "SUSPEND a",
            "ENTER b",
            "SUSPEND b",
            "RESUME a",
            "EXIT a",
            "RESUME b",
            "EXIT b",
            "RESUME main",
            "EXIT main",
        ],
    ),
    "cancelling unwinds": (
        "async def g(): await asyncio.sleep(9)\nasync def main():\n    t = asyncio.ensure_future(g())\n"
        "    await asyncio.sleep(0)\n    t.cancel()\n    try: await t\n    except asyncio.CancelledError: return 1",
        ["ENTER main", "SUSPEND main", "ENTER g", "SUSPEND g", "RESUME main", "SUSPEND main", "UNWIND g", "EXIT main"],
    ),
    "async for and async with": (
        "class C:\n    async def __aenter__(self): return 1\n    async def __aexit__(self, *e): return True\n"
        "async def g():\n    yield 1\n    yield 2\nasync def main():\n    async with C():\n"
        "        async for x in g(): pass\n        raise KeyError",
        [
            "ENTER main",
            "ENTER C.__aenter__",
            "EXIT C.__aenter__",
            "ENTER g",
            "SUSPEND g",
            "RESUME g",
            "SUSPEND g",
            "RESUME g",
            "EXIT g",
            "ENTER C.__aexit__",
            "EXIT C.__aexit__",
            "EXIT main",
        ],
    ),
    "an async generator that is closed": (
        "async def g():\n    yield 1\nasync def main():\n    i = g()\n    await i.__anext__()\n    await i.aclose()",
        ["ENTER main", "ENTER g", "SUSPEND g", "UNWIND g", "EXIT main"],
    ),
    "an async generator thrown into": (
        "async def g():\n    try: yield 1\n    except KeyError:\n        await asyncio.sleep(0)\n        yield 2\n"
        "async def main():\n    i = g()\n    await i.__anext__()\n    r = await i.athrow(KeyError)\n"
        "    await i.aclose()\n    return r",
        [
            "ENTER main",
            "ENTER g",
            "SUSPEND g",
            "SUSPEND g",
            "SUSPEND main",
            "RESUME main",
            "RESUME g",
            "SUSPEND g",
            "UNWIND g",
            "EXIT main",
        ],
    ),
    "a timeout": (
        "async def g(): await asyncio.sleep(9)\nasync def main():\n    try: await asyncio.wait_for(g(), 0.001)\n"
        "    except asyncio.TimeoutError: return 1",
        None,
    ),
}


@pytest.mark.parametrize("name", ASYNC_PROGRAMS)
def test_async_construct_records_its_events(name, trace):
    source, events = ASYNC_PROGRAMS[name]
    source = "import asyncio\n" + source
    plain = asyncio.run(trace.load(source, traced=False)["main"]())
    assert asyncio.run(trace.load(source)["main"]()) == plain
    log = trace.take()
    if events is None:
        assert log.count("UNWIND g") == 1 and log[-1] == "EXIT main"
    else:
        assert log == events


AWAITS = {
    "return": "return await g(1)",
    "operands": "return await g(1) + await g(2) * -(await g(3))",
    "a chain of comparisons": "return await g(1) < await g(2) < await g(3)",
    "short circuits": "return await g(0) or await g(2) and await g(3)",
    "a condition": "return await g(1) if await g(1) else await g(2)",
    "arguments": "return max(await g(1), *await g([2, 3]), key=await g(None), **await g({}))",
    "what is called, and its attribute": "return (await g('text')).upper(), (await (await g(g))(3)).real",
    "a slice": "return (await g([1, 2, 3]))[await g(0) : await g(2)]",
    "displays": "return [await g(1), *await g([2])], {await g(1): await g(2), **await g({3: 4})}, {await g(5)}, (await g(6),)",
    "formatted text": "return f'{await g(1)!r:>{await g(5)}}'",
    "targets": "d = {}\nd[await g(1)] = await g(2)\n(await g(d))[3], *rest = await g([4, 5])\nreturn d, rest",
    "an augmented target": "d = [1]\nd[await g(0)] += await g(2)\nreturn d",
    "a named expression": "return (x := await g(1)), x",
    "del": "d = [1, 2]\ndel d[await g(0)]\nreturn d",
    "assert": "try: assert await g(0), await g('m')\nexcept AssertionError as e: return str(e)",
    "raise": "try: raise await g(ValueError(1)) from await g(KeyError(2))\nexcept ValueError as e: return repr(e.__cause__)",
    "clauses of try": "try: 1 / 0\nexcept await g(ZeroDivisionError): return await g(1)\nelse: pass\nfinally: await g(2)",
    "a clause of groups": "try: raise ExceptionGroup('', [KeyError()])\nexcept* await g(KeyError): r = await g(1)\nreturn r",
    "with": "with await g(contextlib.nullcontext(1)) as x, await g(contextlib.nullcontext(2)): return await g(x)",
    "async with": "async with await g(contextlib.nullcontext(1)) as x: return await g(x)",
    "for": "for x in await g([1, 2]): await g(x)\nelse: return await g(3)",
    "while": "n = 0\nwhile (n := await g(n + 1)) < 3: pass\nreturn n",
    "match": "match await g(1):\n    case x if await g(x == 1): return await g(x)",
    "comprehensions": "return [await g(x) for x in await g([0, 1, 2]) if await g(x)], {await g(x): await g(3) for x in [1]}",
    "nested comprehensions": "return [[await g(y) for y in range(await g(x))] for x in [1, 2]]",
    "a generator expression": "return [x async for x in (await g(y) for y in await g([1, 2]))]",
    "an async generator": "async def n():\n    yield await g(1)\n    yield await g(2)\nreturn [await g(x) async for x in n()]",
    "a function's head": "@await g(staticmethod)\ndef f(a=await g(1), *, b: await g(int) = 2): return a, b\nreturn f()",
    "a class's head": "class C(await g(int), metaclass=await g(type)): pass\nreturn C.__mro__[1], (lambda a=await g(1): a)()",
    "an await": "return await (await g(g))(await g(1))",
}


@pytest.mark.parametrize("name", AWAITS)
def test_await_records_one_suspend_and_resume_each(name, trace):
    source = "import asyncio, contextlib\nasync def g(value):\n    await asyncio.sleep(0)\n    return value\n"
    source += "async def main():\n" + textwrap.indent(AWAITS[name], "    ")
    plain = asyncio.run(trace.load(source, traced=False)["main"]())
    found = asyncio.run(trace.load(source)["main"]())
    assert plain is not None and repr(found).split(" at 0x")[0] == repr(plain).split(" at 0x")[0]
    log = trace.take()
    awaits = log.count("ENTER g")
    assert awaits > 0 and log.count("EXIT g") == log.count("SUSPEND g") == log.count("RESUME g") == awaits
    assert log.count("SUSPEND main") == log.count("RESUME main") == awaits
    assert (log[0], log[-1], log.count("ENTER main")) == ("ENTER main", "EXIT main", 1)
