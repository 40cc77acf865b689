"""Programs whose data go astray: replies of other requests, objects that were closed, accesses that nothing orders."""

from __future__ import annotations

from tests.support.diagnoses.programs.source import NOUNS, VERBS, Source

OBJECTS = (
    ("open(os.devnull, 'w')", "self.inner.write('x')", "self.inner.close()", "ValueError"),
    ("ThreadPoolExecutor(1)", "self.inner.submit(len, 'x')", "self.inner.shutdown()", "RuntimeError"),
    ("__import__('sqlite3').connect(':memory:', check_same_thread=False)", "self.inner.execute('select 1')",
     "self.inner.close()", "__import__('sqlite3').ProgrammingError"),
    ("__import__('io').StringIO()", "self.inner.write('x')", "self.inner.close()", "ValueError"),
)  # fmt: skip


def reply_of_another(source: Source) -> None:
    """A connection that stays in use after an interrupted request; or the near miss: it is replaced or drained."""
    source.asynchronous = True
    first, second = source.names = tuple(source.strands(2))
    shape = "" if source.fault else source.pick("replaced", "obeyed")
    values = {
        "Client": source.name(NOUNS).title(),
        "get": source.name(VERBS),
        "first": first,
        "second": second,
        "question": source.question,
        "cancel": "task.cancel()" if shape != "obeyed" else "pass",
        "renew": "await client.open()" if shape == "replaced" else "pass",
        "delay": source.random.randrange(30, 60) / 1000,
        "read": source.pick(
            "await self.reader.readline()", "await self.reader.read(1000)", "await self.reader.readuntil(b'\\n')"
        ),
    }
    source.spec = "include sockets;\n"
    source.add(
        """
        async def serve(reader, writer):
            while line := await reader.readline():
                await asyncio.sleep($delay)
                writer.write(line.upper())
                await writer.drain()
            writer.close()

        class $Client:
            def __init__(self, port):
                self.port = port

            async def open(self):
                self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)

            async def $get(self, key):
                self.writer.write(key.encode() + b"\\n")
                await self.writer.drain()
                return ($read).decode().strip()
        """,
        **values,
    )
    call = source.nested(f"client.{values['get']}(key)", "client, key")
    source.add(
        """
        async def ask(client, key):
            return await $call

        async def scenario():
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            client = $Client(server.sockets[0].getsockname()[1])
            await client.open()
            await ask(client, "warm-up")
            task = asyncio.create_task(ask(client, "$first"), name="$first")
            await asyncio.sleep(0.01)
            $cancel
            await asyncio.wait({task})
            $renew
            reply = await asyncio.create_task(ask(client, "$second"), name="$second")
            if reply != "$second".upper():
                log.error("$question")
            client.writer.close()
            await asyncio.sleep(3 * $delay)
            server.close()
        """,
        call=call,
        **values,
    )


def closed_before_use(source: Source) -> None:
    """A use of what was closed before; or the near miss: the use comes first, or it is opened again."""
    store, use, close = source.name(NOUNS).title(), source.name(), source.pick("close", "stop", "shutdown")
    source.names = (use, close)
    inner, operation, closing, error = source.random.choice(OBJECTS)
    shape = "" if source.fault else source.pick("before", "again", "another error")
    user = source.strand()
    values = {
        "Store": store,
        "use": use,
        "close": close,
        "inner": inner,
        "operation": operation if shape != "another error" else "int('x')",
        "closing": closing,
        "error": error if shape != "another error" else "ValueError",
        "question": source.question if shape != "another error" else "no number",
        "user": user,
    }
    source.add(
        """
        class $Store:
            def __init__(self):
                self.open()

            def open(self):
                self.inner = $inner

            def $use(self):
                $operation

            def $close(self):
                $closing

        def ask(store):
            try:
                store.$use()
            except $error:
                log.error("$question")
        """,
        **values,
    )
    call = source.nested("ask(store)", "store")
    closed = source.nested(f"store.{close}()", "store")
    run = f"thread = threading.Thread(target=lambda: {call}, name='{user}')\nthread.start()\nthread.join()"
    if source.random.random() < 0.3:
        run = call
    moves = {
        "": [closed, run],
        "before": [run, closed],
        "again": [closed, "store.open()", run, closed],
        "another error": [run, closed],
    }
    source.add(
        """
        def scenario():
            store = $Store()
            $moves
        """,
        moves="\n".join(moves[shape]),
        **values,
    )


def race(source: Source) -> None:
    """A write that is lost between a read and a write of another strand; or the near miss: something orders them."""
    source.asynchronous = source.random.random() < 0.5
    first, second = source.names = tuple(source.strands(2))
    shape = "" if source.fault else source.pick("joined", *(["atomic"] if source.asynchronous else []))
    source.spec = "define app:State.put key name as entry;\nuse app:State.take key name as entry;\n"
    values = {
        "work": source.name(),
        "entry": source.name(NOUNS),
        "question": source.question,
        "pause": "pass" if shape == "atomic" else "await asyncio.sleep(pause)",
    }
    source.add(
        """
        class State:
            def __init__(self):
                self.values = {}

            def put(self, name, value):
                self.values[name] = value

            def take(self, name):
                return self.values[name]

        async def $work(state, pause):
            total = state.take("$entry")
            $pause
            state.put("$entry", total + 1)
        """,
        **values,
    )
    outer = source.nested(f"{values['work']}(state, pause)", "state, pause").partition("(")[0]
    source.add(
        """
        async def scenario():
            state = State()
            state.put("$entry", 0)
            $first
            $joined
            $second
            $finish
            if state.take("$entry") != 2:
                log.error("$question")
        """,
        first=source.start("first", f"{outer}(state, 0.08)", first),
        second=source.start("second", f"{outer}(state, 0.03)", second),
        joined=source.finish("first") if shape == "joined" else "pass",
        finish=source.finish("first", "second"),
        **values,
    )
