"""HTTP clients and servers from PyPI: each request has one header and is received once, by its handler."""

from __future__ import annotations

from collections import Counter

import pytest

from clew.instrument.propagation.traceparent import parse

CLIENTS = """
    import asyncio, http.server, threading
    import aiohttp, httpx, requests

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def do_GET(self):
            away = self.path == "/away"
            body = b"" if away else " ".join(self.headers.get_all("traceparent")).encode()
            self.send_response(302 if away else 200)
            self.send_header("Location", "/")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        def log_message(self, *words): pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    threading.Thread(target=server.serve_forever, name="server", daemon=True).start()
    theirs = {"Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}

    def with_requests():
        return [requests.get(url).text, requests.get(url + "away").text, requests.get(url, headers=theirs).text]
    def with_httpx():
        with httpx.Client(follow_redirects=True) as client:
            return [client.get(url).text, client.get(url + "away").text, client.get(url, headers=theirs).text]
    async def with_async_httpx():
        async with httpx.AsyncClient(follow_redirects=True) as client:
            return [(await client.get(url)).text, (await client.get(url + "away")).text,
                    (await client.get(url, headers=theirs)).text]
    async def with_aiohttp():
        async def get(path="", headers=None):
            async with session.get(url + path, headers=headers) as answer: return await answer.text()
        async with aiohttp.ClientSession() as session:
            return [await get(), await get("away"), await get(headers=theirs)]
    for texts in (with_requests(), with_httpx(), asyncio.run(with_async_httpx()), asyncio.run(with_aiohttp())):
        print(*texts, sep="\\n")
    print(theirs)
    server.shutdown()
    """


def test_http_clients_send_one_traceparent_of_clew_or_of_the_user(record):
    run = record(CLIENTS)
    assert run.code == 0, run.stderr
    *headers, theirs = run.stdout.splitlines()
    spans = [parse(header) for header in headers]
    assert len(headers) == 12 and None not in spans
    user = parse("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    assert spans[2::3] == [user] * 4 and "Traceparent" in theirs
    assert len({span for span in spans if span != user}) == 8
    # Four requests each: two direct ones, and one that was redirected.
    senders = Counter(source.function.partition(".")[0] for source, _ in run.pairs("traceparent"))
    assert senders == dict.fromkeys(("with_requests", "with_httpx", "with_async_httpx", "with_aiohttp"), 4)
    assert {target.process.header.pid for _, target in run.pairs("traceparent")} == {run.processes[0].header.pid}


def test_asgi_and_aiohttp_servers_receive_traceparent_in_handler_task(record):
    run = record(
        """
        import asyncio, http.client, socket
        import aiohttp.web, hypercorn.asyncio, hypercorn.config, uvicorn

        def ask(port):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/")
            assert connection.getresponse().read() == b"hello"
            connection.close()
        def ask_uvicorn(port): ask(port)
        def ask_hypercorn(port): ask(port)
        def ask_aiohttp(port): ask(port)

        async def app(scope, receive, send):
            if scope["type"] == "lifespan":
                await receive()
                return await send({"type": "lifespan.startup.complete"})
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"hello"})
        async def handler(request): return aiohttp.web.Response(text="hello")

        def listener():
            made = socket.socket()
            made.bind(("127.0.0.1", 0))
            made.listen()
            return made, made.getsockname()[1]

        async def main():
            made, port = listener()
            server = uvicorn.Server(uvicorn.Config(app, log_level="critical", http="h11", lifespan="off"))
            serving = asyncio.create_task(server.serve([made]))
            await asyncio.to_thread(ask_uvicorn, port)
            server.should_exit = True
            await serving

            made, port = listener()
            config, over = hypercorn.config.Config(), asyncio.Event()
            config.bind, config.loglevel = [f"fd://{made.detach()}"], "CRITICAL"
            serving = asyncio.create_task(hypercorn.asyncio.serve(app, config, shutdown_trigger=over.wait))
            await asyncio.to_thread(ask_hypercorn, port)
            over.set()
            await serving

            made, port = listener()
            web = aiohttp.web.Application()
            web.add_routes([aiohttp.web.get("/", handler)])
            runner = aiohttp.web.AppRunner(web)
            await runner.setup()
            await aiohttp.web.SockSite(runner, made).start()
            await asyncio.to_thread(ask_aiohttp, port)
            await runner.cleanup()
        asyncio.run(main())
        """
    )
    assert run.code == 0, run.stderr
    pairs = run.pairs("traceparent")
    assert [source.function for source, _ in pairs] == ["ask"] * 3
    assert all(target.strand.startswith("Task-") for _, target in pairs)
    assert len({target.strand for _, target in pairs}) == 3
    handled = [
        placed.strand for placed in run.events if placed.event.kind == 1 and placed.function in ("app", "handler")
    ]
    assert {target.strand for _, target in pairs} <= set(handled)


def test_wsgi_servers_receive_traceparent_once(record):
    run = record(
        """
        import http.client, io, socket, subprocess, sys, threading
        import wsgiref.handlers, wsgiref.simple_server
        import app

        class Quiet(wsgiref.simple_server.WSGIRequestHandler):
            def log_message(self, *words): pass

        def ask(port):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/")
            assert connection.getresponse().read() == b"hello"
            connection.close()

        server = wsgiref.simple_server.make_server("127.0.0.1", 0, app.app, handler_class=Quiet)
        threading.Thread(target=server.serve_forever, name="server", daemon=True).start()
        def ask_wsgiref(): ask(server.server_address[1])
        ask_wsgiref()
        server.shutdown()

        made = socket.socket()
        made.bind(("127.0.0.1", 0))
        made.listen()
        command = [sys.executable, "-m", "gunicorn", "--bind", f"fd://{made.fileno()}", "--log-level", "critical", "app:app"]
        gunicorn = subprocess.Popen(command, pass_fds=[made.fileno()])
        def ask_gunicorn(): ask(made.getsockname()[1])
        ask_gunicorn()
        gunicorn.terminate()
        gunicorn.wait()

        # As in CGI, the request's header is in the environment.
        answer = io.BytesIO()
        environment = {"HTTP_TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                       "REQUEST_METHOD": "GET", "PATH_INFO": "/", "SERVER_PROTOCOL": "HTTP/1.0"}
        handler = wsgiref.handlers.SimpleHandler(io.BytesIO(), answer, sys.stderr, environment)
        handler.run(app.app)
        assert answer.getvalue().endswith(b"hello")
        """,
        files={
            "app.py": """
            def app(environ, start_response):
                start_response("200 OK", [("Content-Length", "5")])
                return [b"hello"]
            """
        },
    )
    assert run.code == 0, run.stderr
    received = [placed for placed in run.events if placed.channel == "traceparent" and placed.event.kind == 9]
    assert len(received) == 3 and sum(placed.key == 0xB7AD6B7169203331 for placed in received) == 1
    (_, at_wsgiref), (_, at_gunicorn) = run.pairs("traceparent")
    assert at_wsgiref.strand == "server"
    assert at_gunicorn.process.header.pid != at_wsgiref.process.header.pid


TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(
    ("header", "valid"),
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f" 00-{TRACE}-{SPAN}-00\t", True),
        (f"01-{TRACE}-{SPAN}-01-what-comes-later", True),
        (f"00-{TRACE}-{SPAN}-01-more", False),
        (f"00-{TRACE}-{SPAN}-01-", False),
        (f"ff-{TRACE}-{SPAN}-01", False),
        (f"00-{TRACE.upper()}-{SPAN}-01", False),
        (f"00-{TRACE}-{SPAN}", False),
        (f"00-{TRACE[1:]}-{SPAN}-01", False),
        (f"00-{'0' * 32}-{SPAN}-01", False),
        (f"00-{TRACE}-{'0' * 16}-01", False),
        (f"0g-{TRACE}-{SPAN}-01", False),
        (f"00-{TRACE}-{SPAN[:-1]}é-01", False),
        (f"00-{TRACE}-+{SPAN[1:]}-01", False),
        ("", False),
        ("-" * 54, False),
    ],
)
def test_traceparent_parse_equals_opentelemetry(header, valid):
    from opentelemetry import trace
    from opentelemetry.context import Context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    theirs = TraceContextTextMapPropagator().extract({"traceparent": header}, Context())
    assert trace.get_current_span(theirs).get_span_context().is_valid == valid  # they agree
    found = parse(header)
    assert (found is not None) == valid
    assert found is None or (found.trace, found.span) == (TRACE, int(SPAN, 16))
