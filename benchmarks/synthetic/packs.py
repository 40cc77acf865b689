"""The operations by which packs are measured: for each pack something that its library is there for, without a network that
would hide the cost: servers are called as their gateway calls them, clients talk to a thread that always answers the same."""

from __future__ import annotations

from typing import NamedTuple


class Operation(NamedTuple):
    name: str
    times: int
    setup: str
    """What defines `once()`, and `end()` where something has to be waited for."""


ANSWERING = """
import socket, threading
listening = socket.create_server(("127.0.0.1", 0))
address = f"http://127.0.0.1:{listening.getsockname()[1]}/items/1"
def answer(peer):
    received = b""
    while got := peer.recv(65536):
        received += got
        while b"\\r\\n\\r\\n" in received:
            received = received.partition(b"\\r\\n\\r\\n")[2]
            peer.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nContent-Type: text/plain\\r\\n\\r\\nok")
def accept():
    while True:
        threading.Thread(target=answer, args=(listening.accept()[0],), daemon=True).start()
threading.Thread(target=accept, daemon=True).start()
"""
"""A server of `address` that keeps connections open; only what the client does differs with its pack."""

WSGI = """
import io
def environ():
    return {
        "REQUEST_METHOD": "GET", "SCRIPT_NAME": "", "PATH_INFO": "/items/1", "QUERY_STRING": "", "SERVER_NAME": "a",
        "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.version": (1, 0), "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(), "wsgi.errors": io.StringIO(), "wsgi.multithread": True, "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
def once():
    answer = app(environ(), lambda status, headers, problem=None: None)
    b"".join(answer)
    answer.close()
"""

ASGI = """
import asyncio
loop = asyncio.new_event_loop()
async def receive(): return {"type": "http.request", "body": b"", "more_body": False}
async def send(message): pass
def once():
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "path": "/items/1",
        "raw_path": b"/items/1", "root_path": "", "scheme": "http", "query_string": b"", "headers": [],
        "server": ("a", 80), "client": ("b", 1),
    }
    loop.run_until_complete(app(scope, receive, send))
"""

LOOP = """
import asyncio
loop = asyncio.new_event_loop()
"""

OPERATIONS = {
    "asyncio": Operation(
        "a task, awaited",
        20_000,
        LOOP
        + """
async def work(): pass
async def ask(): await asyncio.create_task(work())
def once(): loop.run_until_complete(ask())
""",
    ),
    "threads": Operation(
        "start and join of a thread",
        3_000,
        """
        import threading
        def once():
            thread = threading.Thread(target=int)
            thread.start()
            thread.join()
        """,
    ),
    "locks": Operation(
        "`with` a free lock",
        200_000,
        """
        import threading
        lock = threading.Lock()
        def once():
            with lock: pass
        """,
    ),
    "callbacks": Operation(
        "a finalizer, made and run",
        20_000,
        """
        import weakref
        class Thing: pass
        def once():
            thing = Thing()
            weakref.finalize(thing, int)
        """,
    ),
    "executors": Operation(
        "`submit` and `result`",
        10_000,
        """
        from concurrent.futures import ThreadPoolExecutor
        pool = ThreadPoolExecutor(1)
        def once(): pool.submit(int).result()
        end = pool.shutdown
        """,
    ),
    "queues": Operation(
        "`put` and `get`",
        100_000,
        """
        import queue
        items = queue.Queue()
        def once():
            items.put(1)
            items.get()
        """,
    ),
    "processes": Operation(
        "an item through a queue of multiprocessing",
        10_000,
        """
        import multiprocessing
        items = multiprocessing.SimpleQueue()
        def once():
            items.put(1)
            items.get()
        """,
    ),
    "http": Operation(
        "a request by `http.client`",
        3_000,
        ANSWERING
        + """
import http.client
connection = http.client.HTTPConnection("127.0.0.1", listening.getsockname()[1])
def once():
    connection.request("GET", "/items/1")
    connection.getresponse().read()
""",
    ),
    "sockets": Operation(
        "`sendall` and `recv` of a pair",
        50_000,
        """
        import socket
        one, other = socket.socketpair()
        def once():
            one.sendall(b"x")
            other.recv(1)
        """,
    ),
    "urllib3": Operation(
        "a request",
        3_000,
        ANSWERING + "import urllib3\npool = urllib3.PoolManager()\ndef once(): pool.request('GET', address)\n",
    ),
    "requests": Operation(
        "a request of a session",
        2_000,
        ANSWERING + "import requests\nsession = requests.Session()\ndef once(): session.get(address)\n",
    ),
    "httpx": Operation(
        "a request of a client",
        2_000,
        ANSWERING + "import httpx\nclient = httpx.Client(trust_env=False)\ndef once(): client.get(address)\n",
    ),
    "aiohttp": Operation(
        "a request of a client session",
        2_000,
        ANSWERING
        + LOOP
        + """
import aiohttp
async def start(): return aiohttp.ClientSession()
session = loop.run_until_complete(start())
async def ask():
    async with session.get(address) as answer: await answer.read()
def once(): loop.run_until_complete(ask())
def end(): loop.run_until_complete(session.close())
""",
    ),
    "flask": Operation(
        "a request to a server",
        5_000,
        """
import flask
app = flask.Flask("measured")
@app.route("/items/<int:number>")
def item(number): return "ok"
"""
        + WSGI,
    ),
    "django": Operation(
        "a request to a server",
        3_000,
        """
import django
from django.conf import settings
from django.http import HttpResponse
from django.urls import path
def item(request, number): return HttpResponse("ok")
urlpatterns = [path("items/<int:number>", item)]
settings.configure(ROOT_URLCONF="__main__", ALLOWED_HOSTS=["*"], LOGGING_CONFIG=None)
django.setup()
from django.core.wsgi import get_wsgi_application
app = get_wsgi_application()
"""
        + WSGI,
    ),
    "starlette": Operation(
        "a request to a server",
        5_000,
        """
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
async def item(request): return PlainTextResponse("ok")
app = Starlette(routes=[Route("/items/{number:int}", item)])
"""
        + ASGI,
    ),
    "fastapi": Operation(
        "a request to a server",
        3_000,
        """
from fastapi import FastAPI
app = FastAPI()
@app.get("/items/{number}")
async def item(number: int): return number
"""
        + ASGI,
    ),
    "sqlite3": Operation(
        "`execute` and `fetchone`",
        20_000,
        """
        import sqlite3
        cursor = sqlite3.connect(":memory:").cursor()
        def once(): cursor.execute("select 1 where 2 = 2").fetchone()
        """,
    ),
    "sqlalchemy": Operation(
        "a `select` by SQLite",
        3_000,
        """
        from sqlalchemy import create_engine, text
        engine = create_engine("sqlite://")
        statement = text("select 1 where 2 = 2")
        def once():
            with engine.connect() as connection:
                connection.execute(statement).scalar()
        """,
    ),
    "logging": Operation(
        "a line, by a `QueueHandler`",
        5_000,
        """
        import logging, logging.handlers, queue
        lines = queue.Queue()
        listener = logging.handlers.QueueListener(lines, logging.NullHandler())
        listener.start()
        logger = logging.getLogger("measured")
        logger.addHandler(logging.handlers.QueueHandler(lines))
        logger.propagate = False
        def once(): logger.warning("a line of %s", "words")
        end = listener.stop
        """,
    ),
    "subprocess": Operation(
        "`run` of `true`",
        100,
        """
        import subprocess
        def once(): subprocess.run(["/bin/true"])
        """,
    ),
    "redis": Operation(
        "`rpush` and `lpop`",
        3_000,
        """
        import os, redis
        client = redis.Redis(unix_socket_path=os.environ["REDIS"])
        def once():
            client.rpush("measured", "value")
            client.lpop("measured")
        """,
    ),
    "celery": Operation(
        "`delay`, in memory",
        1_000,
        """
        import celery
        app = celery.Celery("measured", broker="memory://")
        @app.task
        def work(number): pass
        def once(): work.delay(1)
        """,
    ),
    "grpc": Operation(
        "a unary call, both sides",
        2_000,
        """
        from concurrent.futures import ThreadPoolExecutor
        import grpc
        server = grpc.server(ThreadPoolExecutor(1))
        handler = grpc.unary_unary_rpc_method_handler(lambda request, context: request)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("a", {"b": handler}),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        call = grpc.insecure_channel(f"127.0.0.1:{port}").unary_unary("/a/b")
        def once(): call(b"x")
        def end(): server.stop(None).wait()
        """,
    ),
}
