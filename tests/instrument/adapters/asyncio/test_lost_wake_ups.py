"""Pools that programs write themselves, with a future for each waiter: a wake-up that is lost is named, and others are not."""

from __future__ import annotations

import pytest

from clew.graph.ops.diagnoses.control.wake_up_lost import find

POOL = """
    import asyncio, sys
    from collections import deque

    class Pool:
        def __init__(self, *free): self.free, self.line = deque(free), deque()

        async def take(self):
            if self.free: return self.free.popleft()
            turn = asyncio.get_running_loop().create_future()
            self.line.append(turn)
            try:
                return await turn
            except asyncio.CancelledError:
                if careful and turn.done() and not turn.cancelled(): self.give(turn.result())
                raise

        def give(self, what):
            while self.line:
                turn = self.line.popleft()
                if not turn.done(): return turn.set_result(what)
            self.free.append(what)

    careful, private, what = "careful" in sys.argv, "private" in sys.argv, "slot" if "slot" in sys.argv else None

    async def main():
        pool, other = Pool(what), Pool()
        got = await pool.take()
        first = asyncio.create_task(pool.take(), name="first")
        second = asyncio.create_task((other if private else pool).take(), name="second")
        await asyncio.sleep(0.01)
        pool.give(got)
        first.cancel()
        await asyncio.wait([second], timeout=0.05)

    asyncio.run(main())
"""

REPLIES = """
    import asyncio

    class Client:
        def __init__(self): self.replies = {}

        async def call(self, number):
            reply = self.replies[number] = asyncio.get_running_loop().create_future()
            return await reply

    async def main():
        client = Client()
        first, second = (asyncio.create_task(client.call(number), name=f"call-{number}") for number in range(2))
        await asyncio.sleep(0.01)
        client.replies[0].set_result("reply")
        first.cancel()
        await asyncio.wait([second], timeout=0.05)

    asyncio.run(main())
"""


@pytest.mark.parametrize("arguments", [(), ("slot",)])
def test_wake_up_of_a_pool_that_goes_to_a_cancelled_waiter_is_named(facts, arguments):
    (finding,) = find(facts(POOL, *arguments))
    assert finding.certainty == "inferred"
    woke, cancelled, waited = (claim.text for claim in finding.claims)
    assert "woke first, which waited for turn" in woke and "Pool.give" in woke
    assert "cancelled first" in cancelled and "did not pass the wake-up on" in cancelled
    assert waited.startswith("second waited for turn") and waited.endswith("nothing woke it.")


@pytest.mark.parametrize("arguments", [("careful",), ("careful", "slot"), ("private",)])
def test_wake_up_that_is_passed_on_or_of_another_pool_is_not_named(facts, arguments):
    assert find(facts(POOL, *arguments)) == []


def test_reply_that_nobody_took_does_not_explain_a_reply_that_never_came(facts):
    assert find(facts(REPLIES)) == []
