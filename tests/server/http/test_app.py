import http.client
import json
import socket
import subprocess
import sys
import threading

import pytest

from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import create_run, finish_run
from clew.server.http.app import MOST_NEWS, Changes, PanelServer, ServerError
from clew.server.session.session import Session

PAGE = "<!doctype html><script type=module src=/panel.js></script>"


@pytest.fixture
def static(tmp_path):
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "panel.js").write_text("export {};")
    (folder / "assets" / "panel.css").write_text("p {}")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    return folder


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def server(static, workspace):
    made = PanelServer(Session(workspace), 0, static)
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield made
    made.close()
    thread.join(5)


def record(workspace, name):
    folder, info = create_run(workspace, name=name, command=["python", "app.py"], spec="", plan=dump(Plan()))
    finish_run(folder, info, 0, [])
    return folder


class Client:
    def __init__(self, server):
        self.server = server

    def ask(self, method, path, body=None, token=True, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is True:
            headers["Authorization"] = f"Bearer {self.server.token}"
        elif token:
            headers["Authorization"] = token
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response, data

    def rpc(self, method, params=None, **more):
        response, data = self.ask("POST", "/rpc", json.dumps({"method": method, "params": params or {}}), **more)
        return response.status, json.loads(data)


@pytest.fixture
def client(server):
    return Client(server)


def test_rpc_runs_lists_the_runs_of_the_workspace(client, workspace):
    folder = record(workspace, "first")
    status, answer = client.rpc("clew/runs")
    assert status == 200
    assert [run["name"] for run in answer["result"]["runs"]] == ["first"]
    assert answer["result"]["selected"] == folder.name


def test_rpc_select_run_by_name_changes_the_selected_run(client, workspace):
    older = record(workspace, "older")
    newer = record(workspace, "newer")
    assert client.rpc("clew/runs")[1]["result"]["selected"] == newer.name
    assert client.rpc("clew/selectRun", {"run": "older"})[1]["result"]["selected"] == older.name
    assert client.rpc("clew/runs")[1]["result"]["selected"] == older.name
    assert client.rpc("clew/selectRun", {"run": ""})[1]["result"]["selected"] == newer.name


def test_rpc_unknown_run_returns_an_error_message(client, workspace):
    status, answer = client.rpc("clew/selectRun", {"run": "gone"})
    assert status == 200
    assert "no run named 'gone'" in answer["error"]["message"]


@pytest.mark.parametrize("token", [False, "Bearer wrong", "Bearer ", "Basic abc", "Bearer tökén"])
def test_http_request_without_valid_token_gets_401(client, token):
    token = token.encode().decode("latin-1") if token else token
    for method, path in (
        ("POST", "/rpc"),
        ("GET", "/"),
        ("GET", "/panel.js"),
        ("GET", "/events"),
        ("GET", "/?token=wrong"),
    ):
        response, data = client.ask(method, path, "{}" if method == "POST" else None, token=token)
        assert response.status == 401
        assert "token" in json.loads(data)["error"]["message"]
        assert client.server.token not in data.decode()


def test_http_token_in_address_serves_the_page_and_sets_a_cookie(client, server):
    response, data = client.ask("GET", f"/?token={server.token}", token=False)
    assert (response.status, data.decode()) == (200, PAGE)
    cookie = response.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    for path, kind in (("/panel.js", "text/javascript"), ("/assets/panel.css", "text/css")):
        response, _ = client.ask("GET", path, token=False, Cookie=cookie.split(";")[0])
        assert response.status == 200
        assert response.headers["Content-Type"].startswith(kind)


def test_http_cookie_alone_does_not_authorize_rpc_or_events(client, server):
    cookie = f"clew-{server.port}={server.token}"
    response, _ = client.ask("POST", "/rpc", '{"method": "clew/runs"}', token=False, Cookie=cookie)
    assert response.status == 401
    response, _ = client.ask("GET", "/events", token=False, Cookie=cookie)
    assert response.status == 401


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "", "0.0.0.0"])
def test_http_request_with_another_host_header_gets_403(client, host):
    for method, path in (("POST", "/rpc"), ("GET", "/"), ("GET", "/events")):
        response, data = client.ask(method, path, '{"method": "clew/runs"}' if method == "POST" else None, Host=host)
        assert response.status == 403


def test_http_request_with_another_origin_gets_403(client, server):
    body = '{"method": "clew/runs"}'
    assert client.ask("POST", "/rpc", body, Origin="https://evil.example")[0].status == 403
    assert client.ask("POST", "/rpc", body, Origin="null")[0].status == 403
    assert client.ask("POST", "/rpc", body, Origin=f"http://127.0.0.1:{server.port}")[0].status == 200


def test_http_every_response_has_the_security_headers(client, server):
    for method, path, token in (
        ("GET", "/", True),
        ("GET", "/gone", True),
        ("POST", "/rpc", True),
        ("GET", "/", False),
    ):
        response, _ = client.ask(method, path, "{}" if method == "POST" else None, token=token)
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "*" not in policy
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert "Access-Control-Allow-Origin" not in response.headers


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/assets/../../secret.txt",
        "/..%2fsecret.txt",
        "//etc/passwd",
        "/link.txt",
        "/assets",
        "/%00",
        "/" + "a" * 5000,
    ],
)
def test_http_path_outside_the_panel_folder_gets_404(client, path):
    response, data = client.ask("GET", path)
    assert response.status == 404
    assert b"secret" not in data.replace(b"secret.txt", b"")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 400),
        ("{", 400),
        ("[]", 400),
        ('{"method": 7}', 400),
        ('{"method": "clew/nothing"}', 400),
        ('{"method": "clew/slice", "params": {}}', 400),
    ],
)
def test_rpc_malformed_request_gets_400_and_a_message(client, body, status):
    response, data = client.ask("POST", "/rpc", body)
    assert response.status == status
    assert json.loads(data)["error"]["message"]


def test_rpc_request_that_is_too_long_gets_413_before_its_body(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    # The answer comes although not one byte of the body was sent.
    headers = {"Authorization": f"Bearer {server.token}", "Content-Length": str((1 << 20) + 1)}
    connection.request("POST", "/rpc", headers=headers)
    assert connection.getresponse().status == 413
    connection.close()


def test_http_connection_carries_many_requests(server, workspace):
    record(workspace, "first")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    for _ in range(3):
        connection.request("POST", "/rpc", '{"method": "clew/runs"}', {"Authorization": f"Bearer {server.token}"})
        assert connection.getresponse().read().startswith(b'{"result"')
    connection.close()


def test_events_stream_announces_a_new_run(server, workspace):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.request("GET", f"/events?token={server.token}")
    response = connection.getresponse()
    assert response.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert response.readline() == b": connected\n"
    record(workspace, "new")
    lines = [response.readline() for _ in range(3)]
    assert lines == [b"\n", b"event: runsChanged\n", b"data: {}\n"]
    connection.close()


def test_changes_slow_listener_gets_the_newest_per_run_up_to_a_limit():
    changes = Changes()
    seen = changes.number
    for number in range(1000):
        changes.announce("runGrew", {"events": number}, about=f"run {number % 3}")
    changes.announce()
    seen, news = changes.wait(seen, 60)
    assert [text.decode() for text in news] == [
        *(f'event: runGrew\ndata: {{"events": {number}}}\n\n' for number in (997, 998, 999)),
        "event: runsChanged\ndata: {}\n\n",
    ]
    assert changes.wait(seen, 0) == (seen, [])
    for number in range(1000):
        changes.announce("runGrew", {}, about=f"run {number}")
    assert len(changes.wait(seen, 60)[1]) == MOST_NEWS


def test_events_stream_announces_a_live_run_as_it_grows(server, workspace):
    (workspace / "app.py").write_text(GROWS)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", f"/events?token={server.token}")
    response = connection.getresponse()
    command = [sys.executable, "-m", "clew", "run", "-q", "--", sys.executable, "app.py"]
    with subprocess.Popen(command, cwd=workspace, stderr=subprocess.DEVNULL) as program:
        seen = []
        while not (seen and seen[-1]["finished"]):
            line = response.readline()
            assert line, "the stream ended"
            if line == b"event: runGrew\n":
                seen.append(json.loads(response.readline().removeprefix(b"data: ")))
                (workspace / "stop").touch()
        assert program.wait(60) == 0
    connection.close()
    assert seen[-1]["calls"] == 1 and seen[-1]["events"] >= 2 and len({one["run"] for one in seen}) == 1


GROWS = """\
import pathlib, time

def go():
    while not pathlib.Path("stop").exists():
        time.sleep(0.01)

go()
"""


def test_rpc_internal_error_gets_500_without_a_traceback(client, monkeypatch):
    monkeypatch.setattr("clew.server.session.requests.runs", lambda *_: 1 / 0)
    status, answer = client.rpc("clew/runs")
    assert status == 500
    assert "ZeroDivisionError" in answer["error"]["message"] and "Traceback" not in answer["error"]["message"]


def test_http_server_listens_on_loopback_only(server):
    assert server.server_address[0] == "127.0.0.1"


def test_http_server_port_in_use_raises_with_the_port(static, workspace):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ServerError, match=f"port {port} of 127.0.0.1 cannot be used"):
            PanelServer(Session(workspace), port, static)


def test_http_server_without_built_panel_raises_with_the_make_target(tmp_path):
    with pytest.raises(ServerError, match="make panel"):
        PanelServer(Session(tmp_path), 0, tmp_path)


def test_http_custom_views_are_served_only_in_a_trusted_workspace(server, client, workspace):
    folder = workspace / ".clew" / "views"
    folder.mkdir(parents=True)
    (folder / "calls.js").write_text("export default {};")
    (folder / "notes.txt").write_text("not a program")
    (workspace / ".clew" / "baseline").write_text("secret")
    response, body = client.ask("GET", "/views/calls.js")
    assert (response.status, body) == (200, b"export default {};")
    assert response.headers["Content-Type"].startswith("text/javascript")
    for path in ("/views/notes.txt", "/views/../baseline", "/views/%2e%2e/baseline", "/views/", "/views/none.js"):
        assert client.ask("GET", path)[0].status == 404
    assert client.ask("GET", "/views/calls.js", token=False)[0].status == 401
    server.session.trusted = False
    assert client.ask("GET", "/views/calls.js")[0].status == 404


def test_rpc_client_that_hangs_up_cancels_its_work(server, monkeypatch):
    began, ended = threading.Event(), threading.Event()

    def slow(_session, _params, task):
        began.set()
        try:
            while not ended.wait(0.01):
                task.phase("working")
        finally:
            ended.set()

    monkeypatch.setattr("clew.server.session.requests.runs", slow)
    body = b'{"method": "clew/runs", "params": {}}'
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(
            f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        assert began.wait(120)
        assert not ended.is_set()
    assert ended.wait(120)


def test_rpc_pipelined_requests_both_get_answers(server):
    body = b'{"method": "clew/runs", "params": {}}'
    request = (
        f"POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as connection:
        connection.sendall(request + request)
        answers = b""
        while answers.count(b"HTTP/1.1 200") < 2:
            more = connection.recv(65536)
            assert more, answers
            answers += more
