"""The panel in a browser: static files and the language server's handlers, over HTTP on the loopback.

Invariant: the server answers only requests with the token. It refuses every request of a page of another origin, or to
a host name that only resolves to this machine.
"""

from __future__ import annotations

import http.cookies
import json
import logging
import mimetypes
import secrets
import socketserver
import threading
import urllib.parse
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from clew.records.errors import ClewError
from clew.server import handlers
from clew.server.http.disconnect import Hangup
from clew.server.protocol.codec import RequestError, encode
from clew.server.protocol.live import RunGrew
from clew.server.protocol.shared import ErrorResult
from clew.server.session.live_runs import Following
from clew.server.session.run_watcher import Watcher
from clew.server.session.session import Cancelled, Session, Task
from clew.server.views.custom_views import SUFFIX, views_folder

STATIC = Path(__file__).resolve().parents[1] / "static"
MAX_BODY = 1 << 20
"""Maximum bytes of a request; the largest real request has some hundred."""
VIEWS = "views/"
"""The path of the workspace's custom views, relative to the page."""
KEEP_ALIVE = 15.0
"""Seconds between two keep-alive comments on /events, so that both ends notice when the other one is gone."""
MOST_NEWS = 100
"""Maximum number of events that are stored for pages that have not received them yet."""
POLICY = (
    "default-src 'none'; script-src 'self'; worker-src 'self' blob:; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

log = logging.getLogger(__name__)


class ServerError(ClewError):
    """The panel cannot be served."""


class PanelServer(ThreadingHTTPServer):
    """Listens on 127.0.0.1 only. Call `serve_forever` in one thread and `close` from another."""

    daemon_threads = True
    # A second `clew view` on the port would otherwise take half of the first one's requests.
    allow_reuse_port = False

    def __init__(
        self, session: Session, port: int = 0, static: Path = STATIC, token: str | None = None, *, relayed: bool = False
    ) -> None:
        """Port 0 selects any free port. With `relayed`, relays are started for viewed runs.

        Raises `ServerError` if the panel is not built or the port is taken.
        """
        if not (static / "index.html").is_file():
            raise ServerError(
                f"the panel is not built ({static / 'index.html'} is missing); in a checkout of clew run `make panel`, "
                "otherwise install clew from a wheel"
            )
        self.session = session
        self.static = static
        self.token = token or secrets.token_urlsafe(32)
        self.changes = Changes()
        try:
            super().__init__(("127.0.0.1", port), RequestHandler)
        except OSError as error:
            raise ServerError(
                f"port {port} of 127.0.0.1 cannot be used ({error.strerror}); choose another with --port, or omit it "
                "for any free one"
            ) from None
        except OverflowError:
            raise ServerError(f"invalid port {port}; expected 1 to 65535") from None
        self._watcher = Watcher(session, self.changes.announce)
        self._watcher.start()
        self._following = Following(session, self._grew, relayed=lambda: relayed)
        self._following.start()

    def server_bind(self) -> None:
        # Skip the base class's look-up of the host name, which can take seconds.
        socketserver.TCPServer.server_bind(self)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    @property
    def hosts(self) -> tuple[str, ...]:
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def _grew(self, growth: RunGrew) -> None:
        # An event of a relay must not replace an event of the watcher.
        self.changes.announce("runGrew", encode(growth), about=f"{growth.run} {growth.pushed}")
        if growth.finished:
            self.changes.announce()

    def close(self) -> None:
        self._watcher.stop()
        self._following.stop()
        self.changes.close()
        self.shutdown()
        self.server_close()
        self.session.helpers.end()

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A browser that closes a tab during an answer is not an error.
        log.debug("connection of %s ended", client_address, exc_info=True)


class Changes:
    """Wakes every open /events stream when there are events. It stores only the newest event of each subject. A slow
    page therefore misses outdated events and delays no other page."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._number = 0
        self._newest: dict[tuple[str, str], tuple[int, bytes]] = {}
        """The number and the data of the newest event, by event name and subject; the newest last."""
        self.closed = False

    def announce(self, event: str = "runsChanged", data: object = None, about: str = "") -> None:
        text = f"event: {event}\ndata: {json.dumps({} if data is None else data)}\n\n".encode()
        with self._condition:
            self._number += 1
            self._newest.pop((event, about), None)
            self._newest[event, about] = (self._number, text)
            if len(self._newest) > MOST_NEWS:
                del self._newest[next(iter(self._newest))]
            self._condition.notify_all()

    def close(self) -> None:
        with self._condition:
            self.closed = True
            self._condition.notify_all()

    @property
    def number(self) -> int:
        return self._number

    def wait(self, seen: int, timeout: float) -> tuple[int, list[bytes]]:
        """Return the number of changes so far, and the events after `seen` to send. It returns when there are some,
        after `timeout` seconds, or when closed."""
        with self._condition:
            self._condition.wait_for(lambda: self._number > seen or self.closed, timeout)
            return self._number, [text for number, text in self._newest.values() if number > seen]


class RequestHandler(BaseHTTPRequestHandler):
    server: PanelServer
    protocol_version = "HTTP/1.1"
    timeout = 60.0
    # An answer is written as head and body: the second write would wait until the first one is acknowledged.
    disable_nagle_algorithm = True
    server_version = "clew"
    sys_version = ""

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = urllib.parse.parse_qs(url.query)
        if not self._foreign():
            if url.path == "/rpc":
                self._error(HTTPStatus.METHOD_NOT_ALLOWED, "POST your request to /rpc")
            elif not (self._bearer() or self._is_token(query.get("token", [""])[0]) or self._cookie(url.path)):
                self._error(
                    HTTPStatus.UNAUTHORIZED,
                    "the token is missing or wrong; open the complete address that `clew view` printed",
                )
            elif url.path == "/events":
                self._events()
            else:
                self._static(urllib.parse.unquote(url.path))

    do_HEAD = do_GET

    def do_POST(self) -> None:
        # Unread bytes would be parsed as the next request.
        self.close_connection = True
        if self._foreign():
            return
        if not self._bearer():
            self._error(HTTPStatus.UNAUTHORIZED, "the token is missing or wrong; send `Authorization: Bearer TOKEN`")
            return
        if urllib.parse.urlsplit(self.path).path != "/rpc":
            self._error(HTTPStatus.NOT_FOUND, "requests go to /rpc")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self._error(HTTPStatus.LENGTH_REQUIRED, "the request has no Content-Length")
            return
        if int(length) > MAX_BODY:
            self._error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request is larger than {MAX_BODY} bytes")
            return
        body = self.rfile.read(int(length))
        self.close_connection = False
        self._rpc(body)

    def _rpc(self, body: bytes) -> None:
        try:
            request = json.loads(body)
            if not isinstance(request, dict) or not isinstance(request.get("method"), str):
                raise ValueError('expected an object with "method" and "params"')
        except (ValueError, RecursionError) as error:
            self._error(HTTPStatus.BAD_REQUEST, f"invalid request: {error}")
            return
        task = Task()
        try:
            with Hangup(self.connection, task):
                result = handlers.answer(self.server.session, request["method"], request.get("params"), task)
        except Cancelled:
            self.close_connection = True  # the client is gone
        except RequestError as error:
            self._error(HTTPStatus.BAD_REQUEST, str(error))
        except ClewError as error:
            # The request was well formed; an unknown run, for example, is an answer for the user.
            self._error(HTTPStatus.OK, str(error))
        except Exception as error:
            log.exception("%s failed", request["method"])
            self._error(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                f"clew could not answer {request['method']} ({type(error).__name__}: {error}); this is a bug in clew, "
                "and the terminal of `clew view` shows where",
            )
        else:
            self._json(HTTPStatus.OK, {"result": result})

    def _events(self) -> None:
        """Send server-sent events: `runsChanged` and `runGrew`, with comments in between."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self._common_headers()
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        if self.command == "HEAD":
            return
        changes = self.server.changes
        seen = changes.number
        try:
            self.wfile.write(b": connected\n\n")
            while not changes.closed:
                seen, news = changes.wait(seen, KEEP_ALIVE)
                self.wfile.write(b"".join(news) or b": here\n\n")
                self.wfile.flush()
        except OSError:
            pass  # the page was closed

    def _static(self, path: str) -> None:
        name = "index.html" if path in ("", "/") else path.lstrip("/")
        try:
            file = self._file(name)
            body = file.read_bytes() if file else b""
        except (OSError, ValueError):
            file = None  # a file cannot have this name
        if file is None:
            self._error(HTTPStatus.NOT_FOUND, "no such file")
            return
        self.send_response(HTTPStatus.OK)
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        # Some registries map scripts to text/plain, which browsers refuse to run.
        kind = {".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css"}.get(file.suffix, kind)
        self.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
        self.send_header("Content-Length", str(len(body)))
        if name == "index.html":
            # Requests for the page's resources, and a reload of the page, have no token of their own.
            cookie = f"{self._cookie_name()}={self.server.token}; Path=/; HttpOnly; SameSite=Strict"
            self.send_header("Set-Cookie", cookie)
        self._common_headers()
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _file(self, name: str) -> Path | None:
        """Return a file of the panel, or a custom view of a trusted workspace."""
        root, suffixes = self.server.static.resolve(), None
        if name.startswith(VIEWS) and self.server.session.trusted:
            root, suffixes = views_folder(self.server.session.workspace).resolve(), (SUFFIX,)
            name = name.removeprefix(VIEWS)
        file = (root / name).resolve()
        is_shown = file.is_relative_to(root) and (suffixes is None or file.suffix in suffixes)
        return file if is_shown and file.is_file() else None

    def _foreign(self) -> bool:
        """Return whether to refuse the request: it is meant for another host (DNS rebinding), or comes from another
        site's page."""
        hosts = self.server.hosts
        origin = self.headers.get("Origin")
        if self.headers.get("Host") in hosts and (origin is None or origin in {f"http://{host}" for host in hosts}):
            return False
        self.close_connection = True
        self._error(HTTPStatus.FORBIDDEN, f"this server answers only for http://{hosts[0]}")
        return True

    def _bearer(self) -> bool:
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        return scheme.lower() == "bearer" and self._is_token(token.strip())

    def _cookie(self, path: str) -> bool:
        # Static files only, because browsers send a cookie without the page's doing.
        if path == "/events":
            return False
        try:
            morsel = http.cookies.SimpleCookie(self.headers.get("Cookie", "")).get(self._cookie_name())
        except http.cookies.CookieError:
            return False
        return morsel is not None and self._is_token(morsel.value)

    def _cookie_name(self) -> str:
        # Cookies are shared by all ports of a host.
        return f"clew-{self.server.port}"

    def _is_token(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self.server.token.encode())

    def _error(self, status: HTTPStatus, message: str) -> None:
        self._json(status, {"error": encode(ErrorResult(message))})

    def _json(self, status: HTTPStatus, value: object) -> None:
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self._common_headers()
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _common_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)

    def log_message(self, format: str, *args: Any) -> None:
        # Omit the request line, because it has the token.
        log.debug("%s answered", self.address_string())
