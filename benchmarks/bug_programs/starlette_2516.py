"""A client that leaves makes the middleware fail, reported as encode/starlette#2516 and #1634."""

import asyncio
import logging
import socket
import threading
import time

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

logging.basicConfig(level="INFO", format="%(asctime)s %(levelname)s %(name)s %(message)s")


class Timing(BaseHTTPMiddleware):
    async def dispatch(self, request: Request, call_next: object) -> Response:
        return await call_next(request)


async def page(request: Request) -> Response:
    await asyncio.sleep(0.3)
    return PlainTextResponse("page")


def visit_and_leave(server: uvicorn.Server) -> None:
    while not server.started:
        time.sleep(0.05)
    client = socket.create_connection(server.servers[0].sockets[0].getsockname())
    client.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
    time.sleep(0.1)
    client.close()
    time.sleep(1.2)
    logging.getLogger("visitor").info("the visit is over")
    server.should_exit = True


app = Starlette(routes=[Route("/", page)], middleware=[Middleware(Timing)] * 6)
server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", log_config=None))
threading.Thread(target=visit_and_leave, args=(server,), daemon=True, name="visitor").start()
server.run()
