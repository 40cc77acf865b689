"""The packs `httpx` and `starlette`: tasks and threads that ask uvicorn in another process."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.support.programs.pack_programs import ASGI

pytestmark = pytest.mark.slow

PROGRAM = """
    from starlette.applications import Starlette
    from starlette.background import BackgroundTask
    from starlette.middleware import Middleware
    from starlette.middleware.base import BaseHTTPMiddleware
    from starlette.responses import JSONResponse, StreamingResponse
    from starlette.routing import Mount, Route

    async def item(request):
        number = request.path_params["number"]
        await asyncio.sleep(0.01)
        log.info("answer %d", number)
        return JSONResponse({"number": number})

    def slow(request):
        number = request.path_params["number"]
        log.info("answer %d", number)
        return JSONResponse({"number": number, "thread": threading.current_thread() is not threading.main_thread()})

    async def later(request):
        async def background(number): log.info("answer %d", number)
        async def pieces():
            for piece in "abc": yield piece
        task = BackgroundTask(background, request.path_params["number"])
        return StreamingResponse(pieces(), status_code=202, background=task)

    async def broken(request):
        log.info("answer %d", request.path_params["number"])
        raise ZeroDivisionError

    async def around(request, call_next):
        answer = await call_next(request)
        answer.headers["seen"] = "yes"
        return answer

    inner = Starlette(
        routes=[Route("/of/{number:int}", item)], middleware=[Middleware(BaseHTTPMiddleware, dispatch=around)]
    )
    app = Starlette(routes=[
        Route("/items/{number:int}", item), Route("/slow/{number:int}", slow), Route("/later/{number:int}", later),
        Route("/broken/{number:int}", broken), Mount("/inner", app=inner), Mount("/by/{name}", app=inner),
    ])
    paths = [(number + shift, f"/{name}/{number + shift}")
             for shift, name in ((0, "items"), (100, "slow"), (200, "later"), (300, "broken"), (400, "inner/of"),
                                  (600, "by/somebody/of"))
             for number in range(3)]
    paths.append((500, "/nowhere/5"))

    if sys.argv[1:] == ["serve"]: serve(app)
    else: in_a_process(lambda url: ask_all(url, paths))
    """


def test_starlette_request_leads_to_its_answer_and_has_its_routes_name(traced):
    found = traced(ASGI + PROGRAM, "include httpx, starlette, standard;")
    # In a task, in a thread of the pool, after the answer was sent, with an error, and below a middleware's own task.
    found.requests_are_apart(
        [*range(3), *range(100, 103), *range(200, 203), *range(300, 303), *range(400, 403), *range(600, 603)]
    )
    found.requests_are_apart(range(900, 903))
    assert Counter(found.requests()) == {
        "GET /items/{number:int}": 6,
        "GET /slow/{number:int}": 3,
        "GET /later/{number:int}": 3,
        "GET /broken/{number:int}": 3,
        "GET /inner/of/{number:int}": 3,
        "GET /by/{name}/of/{number:int}": 3,
        "GET": 1,
    }
    statuses = Counter(found.values("status"))
    assert {status: count for status, count in statuses.items() if status in ("202", "404", "500")} == {
        "202": 2 * 3,
        "404": 2,
        "500": 2 * 3,
    }
    assert Counter(each.split(",")[0] for each in found.values("sent")) == {"('GET'": 19 + 3 + 1}
    stored = b"".join(path.read_bytes() for path in found.folder.rglob("*") if path.is_file())
    assert b"s3cret" not in stored and b"nowhere" not in stored and b"somebody" not in stored
