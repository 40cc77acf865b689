"""Programs that wait for a lock in vain, since its holder is the waiter itself, has ended, or is in another process."""

from __future__ import annotations

from tests.support.diagnoses.programs.source import NOUNS, Source


def retaken_by_holder(source: Source) -> None:
    """A strand that takes its own lock again; or the near miss: the lock may be taken twice, or is given back before."""
    source.asynchronous = source.random.random() < 0.5
    (strand,) = source.names = tuple(source.strands(1))
    shape = "" if source.fault else source.pick("signal", "given back", *([] if source.asynchronous else ["reentrant"]))
    values = {
        "Store": source.name(NOUNS).title(),
        "lock": source.pick("lock", "guard", "mutex"),
        "Lock": "threading.RLock" if shape == "reentrant" else "asyncio.Lock",
        "outer": source.name(),
        "inner": source.name(),
        "question": source.question,
        "back": {
            "given back": "self.$lock.release()",
            "signal": source.later(0.01, "self.$lock.release"),
        }.get(shape, "pass"),
    }
    again = "self.$lock.release()" if shape == "reentrant" else ""
    source.add(
        """
        class $Store:
            def __init__(self):
                self.$lock = $Lock()

            async def $outer(self):
                await self.$lock.acquire()
                $back
                await self.$inner()
                self.$lock.release()

            async def $inner(self):
                $acquire
        """,
        acquire=source.limited(
            "self.$lock.acquire()", 5 if shape == "signal" else source.limit(), 'log.error("$question")', again
        ),
        **values,
    )
    call = source.nested(f"store.{values['outer']}()", "store")
    source.add(
        """
        async def scenario():
            store = $Store()
            $start
            $finish
        """,
        start=source.start("strand", call, strand),
        finish=source.finish("strand"),
        **values,
    )


def lock_held_at_fork(source: Source) -> None:
    """A fork while a thread holds a lock that the child wants; or the near miss: nobody holds it, or the child gets its own."""
    source.forks = True
    (strand,) = source.names = tuple(source.strands(1))
    shape = "" if source.fault else source.pick("before", "own", "forker")
    values = {
        "lock": source.name(NOUNS),
        "hold": source.name(),
        "child": source.name(),
        "Lock": source.pick("Lock", "RLock"),
        "limit": source.limit(),
        "strand": strand,
        "question": source.question,
        "renew": "threading.Lock()" if shape == "own" else "$lock",
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
    shape = "" if source.fault else source.pick("finally", "another")
    values = {
        "lock": source.name(NOUNS),
        "take": source.name(),
        "send": source.name(),
        "question": source.question,
        "how": source.pick("return", "raise LookupError('not there')"),
    }
    source.add(
        """
        taken = []

        async def $take($lock):
            await $lock.acquire()
            taken.append(1)
            try:
                await asyncio.sleep(0.005)
                if taken:
                    $how
                $lock.release()
            finally:
                $back

        async def $send($lock):
            $acquire
        """,
        back="$lock.release()" if shape == "finally" else "pass",
        acquire=source.limited(
            "$lock.acquire()", 5 if shape == "another" else source.limit(), 'log.error("$question")'
        ),
        **values,
    )
    lock = str(values["lock"])
    call = source.nested(f"{values['take']}({lock})", lock)
    wait = source.start("waiter", source.nested(f"{values['send']}({lock})", lock), waiter)
    early = source.random.random() < 0.5
    source.add(
        """
        async def scenario():
            $lock = asyncio.Lock()
            $hold
            while not taken:
                await asyncio.sleep(0.001)
            $early
            $ended
            $late
            $other
            $finish
        """,
        hold=source.start("holder", call, holder),
        early=wait if early else "pass",
        ended=source.finish("holder"),
        late="pass" if early else wait,
        other=source.later(0.02, "$lock.release") if shape == "another" else "pass",
        finish=source.finish("waiter"),
        **values,
    )
