"""HTTP and trace context: the sent request causes the handled request, across processes."""

from __future__ import annotations

from collections import Counter

import pytest

SERVER = """
    import http.server, threading

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write((self.headers.get("traceparent") or "none").encode())
        def log_message(self, *words): pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    threading.Thread(target=server.serve_forever, name="server", daemon=True).start()
"""


def test_http_request_joins_client_and_handler(record):
    run = record(
        SERVER
        + """
    import urllib.request

    def ask(): return urllib.request.urlopen(url).read().decode()
    print(ask())
    print(ask())
    server.shutdown()
"""
    )
    assert run.code == 0, run.stderr
    headers = run.stdout.split()
    assert run.edges("traceparent") == Counter({("traceparent", "MainThread/ask", "server"): 2})
    # The header is W3C's: version, the run, the key, sampled.
    for header, (source, _) in zip(
        headers, [pair for pair in run.pairs() if pair[0].channel == "traceparent"], strict=True
    ):
        version, trace, span, flags = header.split("-")
        assert (version, len(trace), flags) == ("00", 32, "01")
        assert int(span, 16) == source.key
    assert len({header.split("-")[1] for header in headers}) == 1


def test_http_traceparent_set_by_user_stays_and_is_the_cause(record):
    run = record(
        SERVER
        + """
    import urllib.request

    theirs = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    def ask(): return urllib.request.urlopen(urllib.request.Request(url, headers={"Traceparent": theirs})).read().decode()
    assert ask() == theirs
    server.shutdown()
"""
    )
    assert run.code == 0, run.stderr
    assert run.edges("traceparent") == Counter({("traceparent", "MainThread/ask", "server"): 1})
    assert {source.key for source, target in run.pairs() if target.channel == "traceparent"} == {0xB7AD6B7169203331}


def test_http_request_joins_client_and_handler_across_processes(record):
    run = record(
        SERVER
        + """
    import subprocess, sys

    def start(): subprocess.run([sys.executable, "client.py", url], check=True)
    start()
    server.shutdown()
""",
        files={
            "client.py": """
            import http.client, sys, urllib.parse

            def ask(place):
                connection = http.client.HTTPConnection(place.hostname, place.port)
                connection.request("GET", "/", headers={"Accept": "*/*"})
                print(len(connection.getresponse().read()))

            ask(urllib.parse.urlsplit(sys.argv[1]))
            """
        },
    )
    assert run.code == 0, run.stderr
    assert run.stdout == "55\n"
    ((source, target),) = [pair for pair in run.pairs() if pair[1].channel == "traceparent"]
    assert source.process.header.pid != target.process.header.pid
    assert str(source) == "MainThread/ask" and str(target) == "server"


def test_http_without_adapter_sends_no_traceparent(record):
    run = record(
        SERVER
        + """
    import urllib.request
    print(urllib.request.urlopen(url).read().decode())
    server.shutdown()
""",
        adapters=("threads",),
    )
    assert run.stdout == "none\n"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "00",
        "garbage",
        "00-" + "0" * 32 + "-" + "1" * 16 + "-01",
        "00-" + "1" * 32 + "-" + "0" * 16 + "-01",
        "é" * 55,
    ],
)
def test_extract_malformed_traceparent_has_no_edge(record, header):
    run = record(
        f"""
        import clew
        headers = {{"traceparent": {header!r}}}
        clew.extract(headers)
        clew.extract({{}}); clew.extract(None); clew.extract(3); clew.extract({{"traceparent": 5}})
        clew.inject(None); clew.inject(3)
        clew.inject(headers)
        print(headers["traceparent"] != {header!r})
        """
    )
    assert run.code == 0, run.stderr
    assert run.stdout == "True\n" and run.edges() == Counter()


def test_inject_and_extract_pair_up_and_leave_foreign_headers(record):
    run = record(
        """
        import clew

        def give(headers): clew.inject(headers); return headers
        def take(headers): clew.extract(headers)

        ours = give({"accept": "*/*"})
        take({name.title(): value for name, value in ours.items()})
        again = give(dict(ours))
        assert again["traceparent"] != ours["traceparent"] and list(again) == ["accept", "traceparent"]
        theirs = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        assert give(dict(theirs)) == theirs
        take(theirs)
        """
    )
    assert run.code == 0, run.stderr
    assert run.edges() == Counter({("traceparent", "MainThread/give", "MainThread/take"): 2})
