"""The packs' resources: who holds connections of the pools of libraries, and who waits for one."""

from __future__ import annotations

import pytest

from clew.graph.store.store import open_graph
from tests.support.programs.named_facts import NamedFacts

SQLALCHEMY = """
    import threading
    from sqlalchemy import create_engine, text
    from sqlalchemy.exc import TimeoutError

    engine = create_engine("sqlite:///p.db?check_same_thread=false", pool_size=1, max_overflow=1, pool_timeout=0.1)
    kept = []
    def good():
        with engine.connect() as connection:
            connection.execute(text("select 1"))
    def leak():
        kept.append(engine.connect())
    for name, work in (("good-1", good), ("leak-1", leak), ("good-2", good), ("leak-2", leak)):
        thread = threading.Thread(target=work, name=name)
        thread.start()
        thread.join()
    try: good()
    except TimeoutError: print("none is free")
    """
SERVER = """
    import asyncio, threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def do_GET(self):
            if self.path == "/slow":
                asked.set()
                release.wait()
            self.send_response(200)
            self.send_header("content-length", "6")
            self.end_headers()
            self.wfile.write(b"answer")
        def log_message(self, *_arguments): pass

    asked, release = threading.Event(), threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/"
    """
HTTPX = """
    import httpx

    async def read(client): await client.get(url)
    async def keep(client): return await client.send(client.build_request("GET", url), stream=True)
    async def fail(client):
        try: await client.get("http://127.0.0.1:9/")
        except httpx.ConnectError: pass
    async def late(client):
        try: await client.get(url)
        except httpx.PoolTimeout: print("none is free")

    async def main():
        limits = httpx.Limits(max_connections=1)
        async with httpx.AsyncClient(limits=limits, timeout=httpx.Timeout(20, pool=0.2)) as client:
            for work in (read, fail):
                await asyncio.create_task(work(client), name=work.__name__)
            response = await asyncio.create_task(keep(client), name="keep")
            await asyncio.create_task(late(client), name="late")
            await response.aread()
    asyncio.run(main())
    """
HTTPX_SYNC = """
    import httpx

    with httpx.Client(limits=httpx.Limits(max_connections=1), timeout=httpx.Timeout(20, pool=0.2)) as client:
        client.get(url)
        response = client.send(client.build_request("GET", url), stream=True)
        try: client.get(url)
        except httpx.PoolTimeout: print("none is free")
        response.read()
    """
AIOHTTP = """
    import aiohttp

    async def read(session):
        async with session.get(url) as response: await response.read()
    async def keep(session):
        async with session.get(url + "slow") as response: await response.read()
    async def late(session):
        try:
            async with asyncio.timeout(0.2): await read(session)
        except TimeoutError: print("none is free")
        release.set()

    async def main():
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as session:
            await asyncio.create_task(read(session), name="read")
            keeping = asyncio.create_task(keep(session), name="keep")
            await asyncio.to_thread(asked.wait)
            await asyncio.create_task(late(session), name="late")
            await keeping
    asyncio.run(main())
    """
REDIS = """
    import os, threading
    import redis

    pool = redis.ConnectionPool.from_url("unix://" + os.environ["REDIS"], max_connections=2)
    client = redis.Redis(connection_pool=pool)
    client.set("a", 1)
    kept = []
    def leak(): kept.append(pool.get_connection())
    for number in range(2):
        thread = threading.Thread(target=leak, name=f"leak-{number}")
        thread.start()
        thread.join()
    try: client.get("a")
    except redis.ConnectionError: print("none is free")
    """
REDIS_ASYNC = """
    import asyncio, os
    import redis, redis.asyncio

    async def leak(pool): kept.append(await pool.get_connection())
    async def late(client):
        try: await client.get("a")
        except redis.ConnectionError: print("none is free")
    kept = []
    async def main():
        pool = redis.asyncio.BlockingConnectionPool.from_url("unix://" + os.environ["REDIS"], max_connections=1, timeout=0.1)
        client = redis.asyncio.Redis(connection_pool=pool)
        await client.set("a", 1)
        await asyncio.create_task(leak(pool), name="leak-0")
        await asyncio.create_task(late(client), name="late")
        await kept[0].disconnect()
    asyncio.run(main())
    """


def pool_of(twice, source, pack, name, **environment):
    """Return who held connections and whether they were given back, and the waits that failed, with their slots."""
    run = twice(source, f"include {pack}, threads, asyncio", environment=environment)
    assert run.stdout == "none is free\n"
    found = NamedFacts(open_graph(run.folder)[0])
    channel = f"resource.{name}"
    held = [
        (found.name(holding.strand), holding.until_ns is not None)
        for holding in found.holdings
        if found.graph.channel(holding.rows[0]) == channel
    ]
    return held, [(found.name(wait.strand), wait.begin.text.capacity, wait.end) for wait in found.of(channel)]


def test_sqlalchemy_pool_has_holders_and_a_wait_when_it_is_exhausted(twice):
    held, waits = pool_of(twice, SQLALCHEMY, "sqlalchemy", "sqlalchemy.pool")
    assert held == [("good-1", True), ("leak-1", False), ("good-2", True), ("leak-2", False)]
    assert waits == [("MainThread", 2, "timeout")]


def test_httpcore_pool_of_asynchronous_client_has_holders_and_waits(twice):
    held, waits = pool_of(twice, SERVER + HTTPX, "httpx", "httpcore.pool")
    assert held == [("read", True), ("fail", True), ("keep", True)]
    assert waits == [("late", 1, "timeout")]


def test_httpcore_pool_of_client_has_holders_and_waits(twice):
    held, waits = pool_of(twice, SERVER + HTTPX_SYNC, "httpx", "httpcore.pool")
    assert held == [("MainThread", True), ("MainThread", True)]
    assert waits == [("MainThread", 1, "timeout")]


def test_aiohttp_pool_has_holders_and_waits(twice):
    held, waits = pool_of(twice, SERVER + AIOHTTP, "aiohttp", "aiohttp.pool")
    assert held == [("read", True), ("keep", True)]
    assert waits == [("late", 1, "cancelled")]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (REDIS, ([("MainThread", True), ("leak-0", False), ("leak-1", False)], [("MainThread", 2, "failed")])),
        (REDIS_ASYNC, ([("Task-1", True), ("leak-0", False)], [("late", 1, "failed")])),
    ],
    ids=["threads", "tasks"],
)
def test_redis_pool_has_holders_and_a_failed_wait_when_it_is_exhausted(twice, redis_server, source, expected):
    held, waits = pool_of(twice, source, "redis", "redis.pool", REDIS=str(redis_server))
    assert (held, waits[:1]) == expected
