"""The pack `aiohttp`: tasks of one session that ask a server in another process."""

from __future__ import annotations

from collections import Counter

import pytest

pytestmark = pytest.mark.slow

PROGRAM = """
    import asyncio, os, socket
    import aiohttp
    from aiohttp import web

    async def item(request):
        number = int(request.match_info["number"])
        await asyncio.sleep(0.01)
        log.info("answer %d", number)
        return web.json_response({"number": number})

    async def elsewhere(request):
        number = int(request.match_info["number"])
        def work(): log.info("answer %d", number)
        await asyncio.get_running_loop().run_in_executor(None, work)
        return web.Response(status=202)

    async def broken(request):
        log.info("answer %d", int(request.query["number"]))
        raise ZeroDivisionError

    async def refused(request):
        raise web.HTTPForbidden(text="no")

    async def serve():
        app, inner = web.Application(), web.Application()
        app.add_routes([web.get("/items/{number}", item), web.post("/elsewhere/{number:[0-9]+}", elsewhere),
                        web.get("/broken", broken), web.get("/refused", refused)])
        app.add_routes([web.static("/files", os.path.dirname(__file__))])
        inner.add_routes([web.get("/of/{number}", item)])
        app.add_subapp("/inner/", inner)
        runner, over = web.AppRunner(app), asyncio.Event()
        await runner.setup()
        made = socket.socket()
        made.bind(("127.0.0.1", 0))
        await web.SockSite(runner, made).start()
        loop = asyncio.get_running_loop()
        def stop(): loop.call_soon_threadsafe(over.set)
        threading.Thread(target=serving, args=(made.getsockname()[1], stop), name="until the end").start()
        await over.wait()
        await runner.cleanup()

    async def ask_all(url):
        answers = {}
        async def ask(session, number, method, path):
            log.info("ask %d", number)
            async with session.request(method, url + path, params={"number": str(number)}) as answer:
                names = [(name, answer.headers.get(name)) for name in ("Content-Type", "Allow", "Connection")]
                answers[number] = answer.status, names, len(await answer.text())
        async with aiohttp.ClientSession() as session:
            paths = [(number + shift, method, f"/{path}/{number + shift}") for shift, method, path in (
                (0, "GET", "items"), (100, "POST", "elsewhere"), (200, "GET", "inner/of")) for number in range(3)]
            paths += [(number + 300, "GET", "/broken") for number in range(3)]
            paths += [(500, "GET", "/nowhere/5"), (501, "GET", "/refused"), (502, "PUT", "/items/5"),
                      (503, "GET", "/files/program.py")]
            await asyncio.gather(*(ask(session, *each) for each in paths))
            for key in sorted(answers): print(key, answers[key])
            try: await session.get("http://127.0.0.1:1/")
            except aiohttp.ClientConnectorError as error: print(type(error).__name__)

    if sys.argv[1:] == ["serve"]:
        logging.getLogger("aiohttp").setLevel(logging.CRITICAL + 1)
        asyncio.run(serve())
    else:
        in_a_process(lambda url: asyncio.run(ask_all(url)))
    """


def test_aiohttp_request_leads_to_its_answer_and_has_its_routes_name(traced):
    found = traced(PROGRAM, "include aiohttp, standard;")
    found.requests_are_apart([*range(3), *range(100, 103), *range(200, 203), *range(300, 303)])
    assert Counter(found.requests()) == {
        "GET /items/{number}": 3,
        "POST /elsewhere/{number}": 3,
        "GET /inner/of/{number}": 3,
        "GET /broken": 3,
        "GET /refused": 1,
        "GET /files": 1,
        "GET": 1,
        "PUT": 1,
    }
    # If a handler raises, only the client records a status.
    assert Counter(found.values("status")) == {"200": 2 * 7, "202": 2 * 3, "500": 3, "404": 1, "403": 1, "405": 1}
    assert Counter(found.values("sent")) == {"GET": 13, "POST": 3, "PUT": 1}
    stored = b"".join(path.read_bytes() for path in found.folder.rglob("*") if path.is_file())
    assert b"nowhere" not in stored and found.values("url") == []
