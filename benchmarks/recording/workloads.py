"""The programs that recording is measured on. Every function in here and below it is recorded by every tracer.

Invariant: one call of what `prepare` gives is one slice: the same work each time, some 5 to 20 ms without tracing.
"""

from __future__ import annotations

import asyncio
import json
import json.decoder
import json.scanner
import queue
import random
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

Work = Callable[[], object]

FIB = 17
MICROSECOND_CALLS = 6000
ITEMS = 400
HANDOFFS = 600


class Workload(NamedTuple):
    name: str
    prepare: Callable[[], Work]
    modules: tuple[str, ...]
    """Prefixes of the modules whose functions a decorator is put on, besides this one."""
    threads: bool = False
    """Its time is the whole process's, not one thread's."""


def fib(n: int) -> int:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def microsecond(values: tuple[int, ...]) -> int:
    total = 0
    for value in values:
        total += value * value
    return total


def many(count: int, values: tuple[int, ...] = tuple(range(24))) -> None:
    for _ in range(count):
        microsecond(values)


def prepare_fib() -> Work:
    return lambda: fib(FIB)


def prepare_microsecond() -> Work:
    return lambda: many(MICROSECOND_CALLS)


async def _answer(requests: asyncio.Queue[int], answers: asyncio.Queue[int]) -> None:
    while (item := await requests.get()) >= 0:
        await asyncio.sleep(0)
        await answers.put(item + 1)


async def _ask(count: int) -> int:
    requests: asyncio.Queue[int] = asyncio.Queue(1)
    answers: asyncio.Queue[int] = asyncio.Queue(1)
    server = asyncio.create_task(_answer(requests, answers))
    total = 0
    for number in range(count):
        await requests.put(number)
        total += await answers.get()
    await requests.put(-1)
    await server
    return total


def prepare_asyncio() -> Work:
    """Two tasks that hand an item to and fro through queues, with a `sleep(0)` in between."""
    loop = asyncio.new_event_loop()
    return lambda: loop.run_until_complete(_ask(HANDOFFS))


def _double(inbox: queue.Queue[int], outbox: queue.Queue[int]) -> None:
    while (item := inbox.get()) >= 0:
        outbox.put(2 * item)


def _through_threads() -> int:
    inbox: queue.Queue[int] = queue.Queue()
    outbox: queue.Queue[int] = queue.Queue()
    threads = [threading.Thread(target=_double, args=(inbox, outbox)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(ITEMS):
        inbox.put(number)
    total = sum(outbox.get() for _ in range(ITEMS))
    for _ in threads:
        inbox.put(-1)
    for thread in threads:
        thread.join()
    return total


def prepare_threads() -> Work:
    return _through_threads


def prepare_parser() -> Work:
    """The standard library's JSON parser, its C parts replaced by the Python originals that it has for them."""
    parser: Any = json.decoder.JSONDecoder()
    parser.parse_string = json.decoder.py_scanstring  # type: ignore[attr-defined]  # not in typeshed
    parser.scan_once = json.scanner.py_make_scanner(parser)  # type: ignore[attr-defined]  # not in typeshed
    generator = random.Random(7)
    rows = [
        {"id": number, "name": f"item \\n {number}", "tags": ["a", "b"], "size": generator.random(), "in": {"ok": True}}
        for number in range(120)
    ]
    text = json.dumps(rows)
    if parser.decode(text) != rows:
        raise SystemExit("the parser under test parses wrongly")
    return lambda: parser.decode(text)


TEMPLATE = """
{%- macro cell(value, kind) %}<td class="{{ kind|lower }}">{{ value|upper|truncate(40) }}</td>{% endmacro -%}
<html><body><h1>{{ title|title }}</h1>
{% for group in groups %}<h2>{{ loop.index }}. {{ group.name|capitalize }} ({{ group.rows|length }})</h2><table>
{% for row in group.rows|sort(attribute="name") %}<tr{% if loop.first %} class="first"{% endif %}>
{{ cell(row.name, "Name") }}{{ cell(row.city|default("none"), "City") }}
<td>{{ "%.2f"|format(row.price) }}</td><td>{{ row.tags|join(", ") }}</td></tr>{% endfor %}</table>{% endfor %}
</body></html>
"""


def prepare_jinja2() -> Work:
    """Reading and compiling a template, and rendering a page of 60 rows by it."""
    import jinja2

    groups = [
        {
            "name": f"group {group}",
            "rows": [
                {"name": f"row <{row}>", "city": f"city & {row % 7}", "price": row * 1.25, "tags": ["new", "<old>"]}
                for row in range(12)
            ],
        }
        for group in range(5)
    ]

    def render() -> str:
        environment = jinja2.Environment(autoescape=True, cache_size=0)
        return environment.from_string(TEMPLATE).render(title="a page", groups=groups)

    if "CITY &AMP; 3" not in render().upper():
        raise SystemExit("the template under test renders wrongly")
    return render


def prepare_pyflakes() -> Work:
    """pyflakes over its own messages, scope and command-line modules."""
    import ast

    import pyflakes.checker

    folder = Path(str(pyflakes.checker.__file__)).parent
    trees = [ast.parse((folder / name).read_text()) for name in ("reporter.py", "api.py", "messages.py")]

    def check() -> int:
        return sum(len(pyflakes.checker.Checker(tree).messages) for tree in trees)

    return check


WORKLOADS = {
    workload.name: workload
    for workload in (
        Workload("fib", prepare_fib, ()),
        Workload("microsecond", prepare_microsecond, ()),
        Workload("asyncio", prepare_asyncio, ("asyncio.",)),
        Workload("threads", prepare_threads, ("queue", "threading"), threads=True),
        Workload("parser", prepare_parser, ("json.",)),
        Workload("jinja2", prepare_jinja2, ("jinja2",)),
        Workload("pyflakes", prepare_pyflakes, ("pyflakes",)),
    )
}


def belongs(workload: Workload, module: ModuleType) -> bool:
    """Does a decorator go on the functions of this module?"""
    name = module.__name__
    return name == __name__ or any(name == prefix or name.startswith(prefix) for prefix in workload.modules)
