"""The only line of a function that a call can be in is the line ending in `# here`; without such a line it is unknown."""

import textwrap

import pytest

from clew.server.locations.ast_call_lines import Callee, call_lines
from clew.server.locations.definitions import outline

CALLS = {
    "of the file": ("app:helper", "def f():\n    helper()  # here\ndef helper(): pass"),
    "imported": ("app.tools:helper", "from app.tools import helper\ndef f():\n    helper()  # here"),
    "imported as": (
        "app.tools:helper",
        "from .tools import helper as h\ndef f():\n    return [\n        h()  # here\n    ]",
    ),
    "of a package": ("app.tools.inner:helper", "from app.tools import helper\ndef f():\n    helper()  # here"),
    "of a module": ("app.tools:helper", "from app import tools\ndef f():\n    tools.helper()  # here"),
    "of a dotted module": ("app.tools:helper", "import app.tools as t\ndef f():\n    t.helper()  # here"),
    "a method": ("app:Stock.take", "class Stock: pass\ndef f(stock):\n    stock.take()  # here"),
    "a method in a chain": ("app:Stock.take", "def f(x):\n    (x\n      .stock()\n      .take())  # here"),
    "of itself": ("app:C.get", "class C:\n    def f(self):\n        self.get()  # here\n        d.get(1)"),
    "a class": ("app:Stock.__init__", "class Stock: pass\ndef f():\n    Stock()  # here"),
    "in a nested function": ("app:f.<locals>.inner", "def f():\n    def inner(): pass\n    inner()  # here"),
    "awaited": ("app:helper", "async def f():\n    await helper()  # here\nasync def helper(): pass"),
    # Ambiguous calls have no line.
    "twice": ("app:helper", "def f():\n    helper()\n    helper()\ndef helper(): pass"),
    "a parameter of that name": ("app.tools:helper", "def f(helper):\n    helper()"),
    "of another module": ("other.tools:helper", "from app.tools import helper\ndef f():\n    helper()"),
    "of another library's module": ("app:helper", "import json\ndef f():\n    json.helper()"),
    "what dicts have, too": ("app:Cache.get", "def f(options):\n    options.get('a')"),
    "not in the text": ("app:helper", "def f():\n    pass"),
    "in a function inside": ("app:helper", "def f():\n    def g():\n        helper()\ndef helper(): pass"),
    "a function, by a method's name": ("app:take", "def f(stock):\n    stock.take()\ndef take(): pass"),
}
WAITS = {
    "a queue": ("queue:Queue.get", "def f(q, d):\n    d.get(1)\n    q.get()  # here\n    q.get('a', 2)"),
    "a queue with a time": ("queue:Queue.get", "def f(q):\n    q.get(timeout=2)  # here"),
    "a full queue": ("queue:Queue.put", "def f(q):\n    q.put(1)  # here"),
    "a thread": ("threading:Thread.join", "def f(t):\n    ', '.join(x)\n    t.join()  # here"),
    "a lock": (
        "_thread:lock.acquire",
        "def f(self):\n    with open(p):\n        with self.lock:  # here\n            pass",
    ),
    "a lock by hand": ("_thread:lock.acquire", "def f(lock):\n    lock.acquire()  # here"),
    "a result": ("concurrent.futures._base:Future.result", "def f(x):\n    x.result()  # here"),
    "an await": (
        "asyncio.events:Handle._run",
        "async def f():\n    await helper()\n    await sleep(1)  # here\nasync def helper(): pass",
    ),
    "an async for": ("asyncio.events:Handle._run", "async def f():\n    async for x in y():  # here\n        pass"),
    "two locks": ("_thread:lock.acquire", "def f(a, b):\n    with a:\n        pass\n    with b:\n        pass"),
    "two awaits": ("asyncio.events:Handle._run", "async def f():\n    await a()\n    await b()"),
    "only in a recorded callee": (
        "asyncio.events:Handle._run",
        "async def f():\n    await helper()\nasync def helper(): pass",
    ),
}


def expected(text):
    return next((number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# here")), None)


def function(text):
    found = outline(text)
    return next(one for name, (one, *_) in found.items() if name in ("f", "C.f"))


@pytest.mark.parametrize(("label", "text"), CALLS.values(), ids=CALLS)
def test_call_lines_call_has_a_line_only_if_unambiguous(label, text):
    assert call_lines(text).of_callee(function(text), "app", Callee(*label.split(":"))) == expected(text)


@pytest.mark.parametrize(("through", "text"), WAITS.values(), ids=WAITS)
def test_call_lines_wait_has_a_line_only_if_unambiguous(through, text):
    found = call_lines(text).of_wait(function(text), "app", through, [Callee("app", "helper")])
    assert found == expected(text)


def test_call_lines_of_text_that_does_not_parse_is_missing():
    assert call_lines(textwrap.dedent("def f(:\n")) is None


def test_call_lines_of_functions_in_one_line_are_unknown():
    text = "f = lambda: g(), lambda: h()\ndef g(): pass"
    assert call_lines(text).functions.keys() == {outline(text)["g"][0]}
