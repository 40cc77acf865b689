"""anyio's memory object streams: the end of a stream depends on who closed it, and on the sends that were cancelled."""

from __future__ import annotations

import pytest

pytest.importorskip("anyio")


def test_end_of_memory_stream_depends_on_close_and_on_cancelled_send(record):
    run = record(
        """
        import anyio, asyncio

        async def give_up(out):
            await out.send(1)
            await out.send(2)  # nobody takes it

        def close(out): out.close()

        async def take(source):
            assert await source.receive() == 1
            try: await source.receive()
            except anyio.EndOfStream: return
            raise AssertionError

        async def main():
            out, source = anyio.create_memory_object_stream(1)
            task = asyncio.create_task(give_up(out), name="giver")
            await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.wait([task])
            close(out)
            await take(source)

        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges("anyio.stream") == {
        ("anyio.stream", "giver", "Task-1/take"): 1,
        ("anyio.stream", "Task-1/close", "Task-1/take"): 1,
    }


def test_send_to_memory_stream_without_receivers_depends_on_their_close(record):
    run = record(
        """
        import anyio

        async def leave(source): await source.aclose()
        async def give(out):
            try: await out.send(1)
            except anyio.BrokenResourceError: return
            raise AssertionError
        async def main():
            out, source = anyio.create_memory_object_stream(1)
            other = source.clone()
            other.close()
            await leave(source)
            await give(out)

        anyio.run(main)
        """
    )
    assert run.code == 0, run.stderr
    ((edge, count),) = run.edges("anyio.stream").items()
    assert edge[1].endswith("/leave") and edge[2].endswith("/give") and count == 1


def test_memory_stream_that_is_read_to_its_items_only_has_no_edge_of_its_end(record):
    run = record(
        """
        import anyio

        async def main():
            out, source = anyio.create_memory_object_stream(2)
            async with out:
                await out.send(1)
            assert await source.receive() == 1

        anyio.run(main)
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges("anyio.stream") == {}
