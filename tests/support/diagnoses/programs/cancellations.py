"""Programs whose tasks are cancelled while others need them to go on, to stop, or to clean up."""

from __future__ import annotations

from tests.support.diagnoses.programs.source import NOUNS, Source


def wake_up_lost(source: Source) -> None:
    """A notified waiter that is cancelled before it runs; or the near miss: all are notified, or it ran before."""
    source.asynchronous = True
    first, second = source.names = tuple(source.strands(2))
    shape = "" if source.fault else source.pick("all", "ran", "before")
    whom = "notify_all()" if shape == "all" else "notify(1)"
    notify = f"async with box.ready:\n    box.items.append(1)\n    box.ready.{whom}"
    moves = {
        "": f"{notify}\nfirst.cancel()",
        "all": f"{notify}\nfirst.cancel()",
        "ran": f"{notify}\nawait asyncio.sleep(0.01)\nfirst.cancel()\n{notify}",
        "before": f"first.cancel()\nawait asyncio.sleep(0)\n{notify}",
    }
    values = {
        "take": source.name(),
        "Box": source.name(NOUNS).title(),
        "first": first,
        "second": second,
        "limit": source.random.randrange(80, 200) / 1000,
        "question": source.question,
        "moves": moves[shape],
        "wait": source.pick("await box.ready.wait()", "await box.ready.wait_for(lambda: box.items)"),
    }
    source.add(
        """
        class $Box:
            def __init__(self):
                self.ready = asyncio.Condition()
                self.items = []

        async def $take(box):
            async with box.ready:
                $wait

        async def limited(box):
            try:
                await asyncio.wait_for($take(box), $limit)
            except asyncio.TimeoutError:
                log.error("$question")

        async def watched(box):
            async with box.ready:
                try:
                    async with asyncio.timeout($limit):
                        $wait
                except TimeoutError:
                    log.error("$question")
        """,
        **values,
    )
    call = source.nested(f"{values['take']}(box)", "box")
    source.add(
        """
        async def scenario():
            box = $Box()
            first = asyncio.create_task($call, name="$first")
            await asyncio.sleep(0.005)
            second = asyncio.create_task($last(box), name="$second")
            await asyncio.sleep(0.005)
            $moves
            await asyncio.gather(first, second, return_exceptions=True)
        """,
        call=call,
        last="watched",
        **values,
    )


def cancellation_swallowed(source: Source) -> None:
    """A task that catches its cancellation and goes on; or the near miss: it ends soon after it."""
    source.asynchronous = True
    (strand,) = source.names = tuple(source.strands(1))
    shape = "" if source.fault else source.pick("raises", "returns", "cleans up")
    catch = source.pick(
        "except BaseException:", "except asyncio.CancelledError:", "except (ValueError, asyncio.CancelledError):"
    )
    handled = {
        "": "continue",
        "raises": "raise",
        "returns": "return",
        "cleans up": "await asyncio.sleep(0.003)\nraise",
    }
    wait = source.pick("await box.get()", "await asyncio.sleep(0.5)", "await asyncio.wait_for(box.get(), 2)")
    values = {
        "work": source.name(),
        "strand": strand,
        "catch": catch,
        "handled": handled[shape],
        "wait": wait,
        "limit": source.random.randrange(60, 150) / 1000,
        "question": source.question,
        "extra": f"message={source.pick('None', repr('please stop'))}",
    }
    source.add(
        """
        running = [True]

        async def $work(box):
            while running:
                try:
                    $wait
                $catch
                    $handled
        """,
        **values,
    )
    call = source.nested(f"{values['work']}(box)", "box")
    source.add(
        """
        async def scenario():
            box = asyncio.Queue()
            task = asyncio.create_task($call, name="$strand")
            await asyncio.sleep(0.01)
            task.cancel()
            done, late = await asyncio.wait({task}, timeout=$limit)
            if late:
                log.error("$question")
            running.clear()
            task.cancel()
            await asyncio.wait({task})
        """,
        call=call,
        **values,
    )


def cancellation_misdirected(source: Source) -> None:
    """A clean-up that is cancelled, too; or the near miss: it is shielded, or the task is cancelled once."""
    source.asynchronous = True
    (strand,) = tuple(source.strands(1))
    close = source.pick("close", "aclose", "disconnect", "shutdown", "cleanup")
    source.names = (strand, close)
    shape = "" if source.fault else source.pick("once", "later")
    values = {
        "work": source.name(),
        "Link": source.name(NOUNS).title(),
        "strand": strand,
        "close": close,
        "question": source.question,
        "again": "task.cancel()"
        if not shape
        else ("await asyncio.wait({task})\ntask.cancel()" if shape == "later" else "pass"),
        "seconds": source.random.randrange(30, 90) / 1000 if source.fault else 0.01,
        "wait": source.pick("await asyncio.sleep($seconds)", "await asyncio.wait_for(asyncio.Event().wait(), $seconds)")
        if source.fault
        else "await asyncio.sleep($seconds)",
    }
    source.add(
        """
        class $Link:
            open = True

            async def $close(self):
                $wait
                self.open = False

        async def $work(link):
            try:
                await asyncio.sleep(20)
            finally:
                await link.$close()
        """,
        **values,
    )
    call = source.nested(f"{values['work']}(link)", "link")
    source.add(
        """
        async def scenario():
            link = $Link()
            task = asyncio.create_task($call, name="$strand")
            await asyncio.sleep(0.005)
            task.cancel()
            await asyncio.sleep(0.005)
            $again
            await asyncio.wait({task})
            if link.open:
                log.error("$question")
        """,
        call=call,
        **values,
    )


def cancellation_spread(source: Source) -> None:
    """Tasks that wait for one thing, of which one is cancelled; or the near miss: it is shielded, or nothing is shared."""
    source.asynchronous = True
    asked, victim, shared = source.strands(3)
    source.names = (asked, victim)
    shape = "" if source.fault else source.pick("shielded", "own", "direct", "all")
    way = (
        source.pick("task", "future", "gather", "limit", "block")
        if source.fault
        else source.pick("task", "limit", "block")
    )
    limit = source.random.randrange(50, 120) / 1000
    if shape in ("direct", "all"):
        way = "task"
    thing = f"asyncio.create_task(load(), name='{shared}')"
    thing = "asyncio.get_running_loop().create_future()" if way == "future" else thing
    inner = "asyncio.shield(thing)" if shape == "shielded" else "thing"
    first = {
        "gather": f"await asyncio.gather({inner})",
        "limit": f"await asyncio.wait_for({inner}, {limit})",
        "block": f"async with asyncio.timeout({limit}): await {inner}",
    }.get(way, f"await {inner}")
    moves = {"direct": "thing.cancel()", "all": "first.cancel()\nsecond.cancel()"}.get(shape, "first.cancel()")
    values = {
        "thing": thing,
        "other": thing if shape == "own" else "thing",
        "first": first,
        "moves": "pass" if way in ("limit", "block") else moves,
        "asked": asked,
        "victim": victim,
        "work": source.name(),
        "question": source.question if source.fault else "interrupted",
        "level": "error" if source.fault else "info",
        "seconds": limit + 0.1,
    }
    source.add(
        """
        async def load():
            await asyncio.sleep($seconds)
            return 1

        async def $work(thing):
            try:
                $first
            except TimeoutError:
                log.info("no answer in time")

        async def last(thing):
            try:
                return await thing
            except asyncio.CancelledError:
                log.$level("$question")
                raise
        """,
        **values,
    )
    call = source.nested(f"{values['work']}(thing)", "thing")
    source.add(
        """
        async def scenario():
            thing = $thing
            first = asyncio.create_task($call, name="$asked")
            other = $other
            second = asyncio.create_task(last(other), name="$victim")
            await asyncio.sleep(0.01)
            $moves
            await asyncio.gather(first, second, return_exceptions=True)
            if not thing.done():
                thing.cancel()
        """,
        call=call,
        **values,
    )
