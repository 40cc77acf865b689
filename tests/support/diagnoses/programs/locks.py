"""Programs that wait for locks: in circles, twice, at a fork, for strands that ended or wait themselves, or in turn."""

from __future__ import annotations

from tests.support.diagnoses.programs.source import NOUNS, Source


def _limit(source: Source) -> float:
    return source.random.randrange(80, 250) / 1000


def wait_circle(source: Source) -> None:
    """Strands that each hold one lock and want the next one's; or the near miss: all take their locks in one order."""
    source.asynchronous = source.random.random() < 0.5
    count = source.random.randrange(2, 5)
    strands = source.strands(count)
    source.names = tuple(strands)
    pairs = [(place, (place + 1) % count) for place in range(count)]
    if not source.fault:
        pairs = [(min(pair), max(pair)) for pair in pairs]
    limit = _limit(source)
    # Without the fault one strand must get all its locks before the next one does: nobody waits for the others to arrive.
    jobs = [
        (name, first, second, (limit if place == 0 or not source.fault else 5))
        for place, (name, (first, second)) in enumerate(zip(strands, pairs, strict=True))
    ]
    owner, attribute = source.name(NOUNS).title(), source.pick("lock", "guard", "mutex")
    values = {
        "Owner": owner,
        "attribute": attribute,
        "move": source.name(),
        "count": count,
        "jobs": jobs,
        "question": source.question,
        "fault": source.fault,
    }
    if source.asynchronous:
        source.add(
            """
            class $Owner:
                def __init__(self):
                    self.$attribute = asyncio.Lock()

            arrived = []

            async def $move(source, target, limit):
                async with source.$attribute:
                    arrived.append(source)
                    while $fault and len(arrived) < $count:
                        await asyncio.sleep(0.002)
                    try:
                        $wait
                    except asyncio.TimeoutError:
                        log.error("$question")
                    else:
                        target.$attribute.release()
            """,
            wait=source.pick(
                "await asyncio.wait_for(target.$attribute.acquire(), limit)",
                "async with asyncio.timeout(limit): await target.$attribute.acquire()",
            ),
            **values,
        )
        call = source.nested(f"{values['move']}(source, target, limit)", "source, target, limit")
        source.add(
            """
            async def scenario():
                owners = [$Owner() for _ in range($count)]
                await asyncio.gather(*[
                    asyncio.create_task($outer(owners[first], owners[second], limit), name=name)
                    for name, first, second, limit in $jobs
                ])
            """,
            outer=call.partition("(")[0],
            **values,
        )
        return
    source.add(
        """
        class $Owner:
            def __init__(self):
                self.$attribute = threading.$Lock()

        gate = threading.Barrier($count)

        def $move(source, target, limit):
            with source.$attribute:
                if $fault:
                    gate.wait()
                if target.$attribute.acquire(timeout=limit):
                    target.$attribute.release()
                else:
                    log.error("$question")
        """,
        Lock=source.pick("Lock", "RLock"),
        **values,
    )
    call = source.nested(f"{values['move']}(source, target, limit)", "source, target, limit")
    source.add(
        """
        def scenario():
            owners = [$Owner() for _ in range($count)]
            threads = [
                threading.Thread(target=$outer, args=(owners[first], owners[second], limit), name=name)
                for name, first, second, limit in $jobs
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        """,
        outer=call.partition("(")[0],
        **values,
    )


def retaken_by_holder(source: Source) -> None:
    """A strand that takes its own lock again; or the near miss: the lock may be taken twice, or another one gives it back."""
    source.asynchronous = source.random.random() < 0.5
    (strand,) = source.names = tuple(source.strands(1))
    shape = "" if source.fault else source.pick("signal", "given back" if source.asynchronous else "reentrant")
    values = {
        "Store": source.name(NOUNS).title(),
        "lock": source.pick("lock", "guard", "mutex"),
        "outer": source.name(),
        "inner": source.name(),
        "limit": _limit(source),
        "strand": strand,
        "question": source.question,
        "back": "self.$lock.release()" if shape == "given back" else "pass",
        "signal": shape == "signal",
    }
    if source.asynchronous:
        source.add(
            """
            class $Store:
                def __init__(self):
                    self.$lock = asyncio.Lock()

                async def $outer(self):
                    await self.$lock.acquire()
                    $back
                    if $signal:
                        asyncio.get_running_loop().call_later(0.01, self.$lock.release)
                    await self.$inner()
                    self.$lock.release()

                async def $inner(self):
                    try:
                        await asyncio.wait_for(self.$lock.acquire(), 5 if $signal else $limit)
                    except asyncio.TimeoutError:
                        log.error("$question")
            """,
            **values,
        )
        call = source.nested(f"store.{values['outer']}()", "store")
        source.add(
            """
            async def scenario():
                store = $Store()
                await asyncio.create_task($call, name="$strand")
            """,
            call=call,
            **values,
        )
        return
    source.add(
        """
        class $Store:
            def __init__(self):
                self.$lock = threading.$Lock()

            def $outer(self):
                self.$lock.acquire()
                if $signal:
                    threading.Timer(0.01, self.$lock.release).start()
                self.$inner()
                self.$lock.release()

            def $inner(self):
                if self.$lock.acquire(timeout=5 if $signal else $limit):
                    if not $signal:
                        self.$lock.release()
                else:
                    log.error("$question")
        """,
        Lock="RLock" if shape == "reentrant" else "Lock",
        **values,
    )
    call = source.nested(f"store.{values['outer']}()", "store")
    source.add(
        """
        def scenario():
            store = $Store()
            thread = threading.Thread(target=lambda: $call, name="$strand")
            thread.start()
            thread.join()
        """,
        call=call,
        **values,
    )


def lock_held_at_fork(source: Source) -> None:
    """A fork while a thread holds a lock that the child wants; or the near miss: nobody holds it, or the child gets its own."""
    (strand,) = source.names = tuple(source.strands(1))
    shape = "" if source.fault else source.pick("before", "own", "forker")
    values = {
        "lock": source.name(NOUNS),
        "hold": source.name(),
        "child": source.name(),
        "Lock": source.pick("Lock", "RLock"),
        "limit": _limit(source),
        "strand": strand,
        "question": source.question,
        "renew": f"{source.pick('threading.Lock()')}" if shape == "own" else "$lock",
        "back": "$lock.release()" if shape == "forker" else "pass",
        "holds": "with contextlib.nullcontext():" if shape in ("before", "forker") else "with $lock:",
        "forker": "$lock.acquire()" if shape == "forker" else "pass",
    }
    source.add(
        """
        import multiprocessing
        $lock = threading.$Lock()
        held, go_on = threading.Event(), threading.Event()

        def $hold():
            $holds
                held.set()
                go_on.wait(20)

        def $child():
            global $lock
            $back
            $lock = $renew
            if not $lock.acquire(timeout=$limit):
                log.error("$question")
        """,
        **values,
    )
    call = source.nested(f"{values['child']}()")
    source.add(
        """
        def scenario():
            thread = threading.Thread(target=$hold, name="$strand")
            thread.start()
            held.wait()
            $forker
            $fork
            go_on.set()
            thread.join()
        """,
        fork=source.pick(
            f"pid = os.fork()\nif pid == 0:\n    {call}\n    os._exit(0)\nos.waitpid(pid, 0)",
            f"process = multiprocessing.get_context('fork').Process(target=lambda: {call})\nprocess.start()\nprocess.join()",
        ),
        **values,
    )


def holder_ended(source: Source) -> None:
    """A strand that ends with a lock; or the near miss: it gives it back, or another strand does so in its place."""
    source.asynchronous = source.random.random() < 0.5
    holder, waiter = source.names = tuple(source.strands(2))
    how = source.pick("return", "raise LookupError('not there')")
    shape = "" if source.fault else source.pick("finally", "another")
    values = {
        "lock": source.name(NOUNS),
        "take": source.name(),
        "send": source.name(),
        "limit": _limit(source) if shape != "another" else 5,
        "holder": holder,
        "waiter": waiter,
        "question": source.question,
        "how": how,
        "back": "$lock.release()" if shape == "finally" else "pass",
        "other": "$later, $lock.release)" if shape == "another" else "pass",
        "later": "loop.call_later(0.02" if source.asynchronous else "$timer",
        "early": source.random.random() < 0.5,
    }
    if source.asynchronous:
        source.add(
            """
            async def $take($lock):
                await $lock.acquire()
                try:
                    await asyncio.sleep(0.005)
                    if $lock.locked():
                        $how
                    $lock.release()
                finally:
                    $back

            async def $send($lock):
                try:
                    await asyncio.wait_for($lock.acquire(), $limit)
                except asyncio.TimeoutError:
                    log.error("$question")
            """,
            **values,
        )
        call = source.nested(f"{values['take']}({values['lock']})", values["lock"])
        wait = source.nested(f"{values['send']}({values['lock']})", values["lock"])
        source.add(
            """
            async def scenario():
                loop = asyncio.get_running_loop()
                $lock = asyncio.Lock()
                holder = asyncio.create_task($call, name="$holder")
                await asyncio.sleep(0)
                if not $early:
                    await asyncio.wait({holder})
                waiter = asyncio.create_task($wait, name="$waiter")
                await asyncio.wait({holder})
                $other
                await asyncio.gather(holder, waiter, return_exceptions=True)
            """,
            call=call,
            wait=wait,
            **values,
        )
        return
    source.add(
        """
        taken = threading.Event()

        def $take($lock):
            $lock.acquire()
            taken.set()
            try:
                time.sleep(0.005)
                if $lock.locked():
                    $how
                $lock.release()
            except LookupError as error:
                log.warning("stopped: %s", error)
            finally:
                $back

        def $send($lock):
            if not $lock.acquire(timeout=$limit):
                log.error("$question")
        """,
        **values,
    )
    call = source.nested(f"{values['take']}({values['lock']})", str(values["lock"]))
    wait = source.nested(f"{values['send']}({values['lock']})", str(values["lock"]))
    source.add(
        """
        def scenario():
            $lock = threading.Lock()
            holder = threading.Thread(target=lambda: $call, name="$holder")
            waiter = threading.Thread(target=lambda: $wait, name="$waiter")
            holder.start()
            taken.wait()
            if $early:
                waiter.start()
            holder.join()
            if not $early:
                waiter.start()
            $other
            waiter.join()
        """,
        call=call,
        wait=wait,
        **{**values, "other": "threading.Timer(0.02, $lock.release).start()" if shape == "another" else "pass"},
    )


def held_by_waiter(source: Source) -> None:
    """A strand that waits for something else with a lock in its hands; or the near miss: it waits before it takes the lock."""
    source.asynchronous = source.random.random() < 0.5
    holder, waiter = source.names = tuple(source.strands(2))
    limit = _limit(source)
    values = {
        "lock": source.pick("lock", "guard", "mutex"),
        "Store": source.name(NOUNS).title(),
        "ask": source.name(),
        "work": source.name(),
        "use": source.name(),
        "limit": limit,
        "long": limit + 0.3,
        "holder": holder,
        "waiter": waiter,
        "question": source.question,
        "inside": source.fault,
        "Lock": source.pick("Lock", "RLock"),
    }
    if source.asynchronous:
        source.add(
            """
            class $Store:
                def __init__(self):
                    self.$lock = asyncio.Lock()
                    self.replies = asyncio.$Gate()

                async def $ask(self):
                    try:
                        await asyncio.wait_for(self.replies.$get(), $long)
                    except asyncio.TimeoutError:
                        log.info("no reply")

                async def $work(self):
                    if not $inside:
                        await self.$ask()
                    async with self.$lock:
                        if $inside:
                            await self.$ask()

                async def $use(self):
                    try:
                        async with asyncio.timeout($limit):
                            async with self.$lock:
                                pass
                    except TimeoutError:
                        log.error("$question")
            """,
            **dict(zip(("Gate", "get"), source.random.choice([("Queue", "get"), ("Event", "wait")]), strict=True)),
            **values,
        )
        call = source.nested(f"store.{values['work']}()", "store")
        wait = source.nested(f"store.{values['use']}()", "store")
        source.add(
            """
            async def scenario():
                store = $Store()
                holder = asyncio.create_task($call, name="$holder")
                await asyncio.sleep(0.005)
                await asyncio.gather(holder, asyncio.create_task($wait, name="$waiter"))
            """,
            call=call,
            wait=wait,
            **values,
        )
        return
    gate = source.random.choice(
        [("queue.Queue()", "self.replies.get(timeout=$long)"), ("threading.Event()", "self.replies.wait($long)")]
    )
    source.add(
        """
        class $Store:
            def __init__(self):
                self.$lock = threading.$Lock()
                self.replies = $gate
                self.ready = threading.Event()

            def $ask(self):
                try:
                    $get
                except queue.Empty:
                    log.info("no reply")

            def $work(self):
                if not $inside:
                    self.ready.set()
                    self.$ask()
                with self.$lock:
                    self.ready.set()
                    if $inside:
                        self.$ask()

            def $use(self):
                self.ready.wait()
                if self.$lock.acquire(timeout=$limit):
                    self.$lock.release()
                else:
                    log.error("$question")
        """,
        gate=gate[0],
        get=gate[1],
        **values,
    )
    call = source.nested(f"store.{values['work']}()", "store")
    wait = source.nested(f"store.{values['use']}()", "store")
    source.add(
        """
        def scenario():
            store = $Store()
            holder = threading.Thread(target=lambda: $call, name="$holder")
            waiter = threading.Thread(target=lambda: $wait, name="$waiter")
            holder.start()
            waiter.start()
            holder.join()
            waiter.join()
        """,
        call=call,
        wait=wait,
        **values,
    )


def serialized_by_lock(source: Source) -> None:
    """Strands that work one after the other under one lock; or the near miss: each has a lock of its own."""
    source.asynchronous = source.random.random() < 0.5
    strands = source.strands(source.random.randrange(4, 8))
    source.any_of = tuple(strands)
    share = source.fault
    values = {
        "work": source.name(),
        "lock": source.name(NOUNS),
        "strands": strands,
        "seconds": source.random.randrange(30, 70) / 1000,
        "question": source.question if share else "done",
        "level": "error" if share else "info",
    }
    if source.asynchronous:
        source.add(
            """
            async def $work($lock):
                async with $lock:
                    await asyncio.sleep($seconds)
            """,
            **values,
        )
        call = source.nested(f"{values['work']}({values['lock']})", str(values["lock"]))
        source.add(
            """
            async def scenario():
                $lock = asyncio.Lock()
                async with asyncio.TaskGroup() as group:
                    for name in $strands:
                        group.create_task($call, name=name)
                        $renew
                log.$level("$question")
            """,
            call=call,
            renew="pass" if share else f"{values['lock']} = asyncio.Lock()",
            **values,
        )
        return
    source.add(
        """
        def $work($lock):
            with $lock:
                time.sleep($seconds)
        """,
        **values,
    )
    call = source.nested(f"{values['work']}({values['lock']})", str(values["lock"]))
    source.add(
        """
        def scenario():
            $lock = threading.$Lock()
            threads = []
            for name in $strands:
                threads.append(threading.Thread(target=lambda $lock=$lock: $call, name=name))
                $renew
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            log.$level("$question")
        """,
        call=call,
        Lock=source.pick("Lock", "RLock"),
        renew="pass" if share else f"{values['lock']} = threading.Lock()",
        **values,
    )
