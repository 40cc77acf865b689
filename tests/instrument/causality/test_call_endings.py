"""A call that ends by an exception has failed, unless the exception signals a regular end."""

from __future__ import annotations

import pytest

from clew.records.format.event import Kind

NOT_FAILED = """
class StopsItself(StopIteration): pass
def stops(): raise StopIteration
def stops_by_own(): raise StopsItself
async def stops_async(): raise StopAsyncIteration
def closed():
    yield
def cancelled(): raise asyncio.CancelledError
def cancelled_by_trio(): raise Cancelled("why")
def killed(): raise GreenletExit
"""
FAILED = """
def fails(): raise ValueError
def is_interrupted(): raise KeyboardInterrupt
def leaves(): raise SystemExit
def misses(): {}["key"]
def has_none(): raise concurrent.futures.CancelledError
def another(): raise BaseException
async def stops_a_coroutine(): raise StopIteration
def stops_a_generator():
    yield from ()
    raise StopIteration
async def stops_an_async_generator():
    for number in (): yield number
    raise StopAsyncIteration
"""
CALLS = """
import asyncio, concurrent.futures

class Cancelled(BaseException): pass
class GreenletExit(BaseException): pass

class Three:
    def __init__(self): self.left = 3
    def __iter__(self): return self
    def __next__(self):
        if not self.left: raise StopIteration
        self.left -= 1
        return self.left

def call(function, *arguments):
    try: function(*arguments)
    except BaseException: pass

assert list(Three()) == [2, 1, 0]
generator = closed()
next(generator)
generator.close()
for coroutine in stops_async(), stops_a_coroutine(): call(coroutine.send, None)
call(stops_a_generator().__next__)
call(stops_an_async_generator().__anext__().send, None)
for function in (%s): call(function)
"""
GENERATORS = ("stops_a_coroutine", "stops_a_generator", "stops_an_async_generator")
"""Functions from which StopIteration escapes as a RuntimeError."""
CALLED = "stops, stops_by_own, cancelled, cancelled_by_trio, killed, fails, is_interrupted, leaves, misses, has_none, another"


pytestmark = pytest.mark.parametrize("record", ["c"], indirect=True)


def ends(run):
    """Return the kinds of the ends of each function's calls."""
    found: dict[str, list[Kind]] = {}
    for placed in run.of(Kind.EXIT, Kind.UNWIND):
        if placed.site.file:
            found.setdefault(placed.site.qualname, []).append(placed.event.kind)
    return found


def test_call_ended_by_a_regular_exception_has_not_failed(record):
    found = ends(record(NOT_FAILED + FAILED + CALLS % CALLED))
    assert found["Three.__next__"] == [Kind.EXIT] * 4
    for name in ("stops", "stops_by_own", "stops_async", "closed", "cancelled", "cancelled_by_trio", "killed"):
        assert found[name] == [Kind.EXIT], name
    for name in ("fails", "is_interrupted", "leaves", "misses", "has_none", "another", *GENERATORS):
        assert found[name] == [Kind.UNWIND], name


def test_call_ended_by_task_cancellation_has_not_failed(record):
    found = ends(
        record(
            """
            import asyncio

            async def receive(queue):
                while True:
                    await queue.get()

            async def fail():
                await asyncio.sleep(0)
                raise OSError("gone")

            async def main():
                tasks = [asyncio.create_task(receive(asyncio.Queue())), asyncio.create_task(fail())]
                await asyncio.sleep(0.01)
                tasks[0].cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

            asyncio.run(main())
            """
        )
    )
    assert found["receive"] == [Kind.EXIT]
    assert found["fail"] == [Kind.UNWIND]


@pytest.mark.parametrize("error", ["KeyError", "StopIteration"])
def test_scope_ended_by_exception_has_the_end_of_a_function(record, error):
    run = record(
        f"""
        import clew

        try:
            with clew.scope("part"): raise {error}
        except {error}: pass
        """
    )
    (end,) = (placed.event.kind for placed in run.of(Kind.EXIT, Kind.UNWIND) if placed.site.qualname == "part")
    assert end == (Kind.EXIT if error == "StopIteration" else Kind.UNWIND)
