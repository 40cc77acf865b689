"""Receives spans and logs of programs in other languages, OTLP over HTTP, into their own run.

A request is answered after its data is in the run's file, so that a program sends it again if the relay was killed.
After some time without requests the run is over and is imported; the next request begins another run. Invariants: a
request without the token is rejected; a request without valid OTLP is rejected and costs only its answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import secrets
import socketserver
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from clew.graph.entities.live.from_spans import FILE
from clew.graph.formats.import_run import finish_import, is_imported
from clew.graph.formats.readers import otlp_protobuf
from clew.graph.formats.readers.otlp import RESOURCES
from clew.graph.formats.source import FormatError
from clew.records.errors import ClewError
from clew.records.plan.plan import Plan, dump
from clew.records.run.directory import ORIGIN_FILE, create_run, list_runs, load_run, save_run
from clew.records.run.liveness import is_running
from clew.server.relay.listen_config import Listening

MOST_BYTES = 16 << 20
"""Maximum bytes of a request, uncompressed."""
PATHS = ("/v1/traces", "/v1/logs")
MOST_TAKEN, MOST_AGAIN = 1 << 14, 64 << 20
"""Number of requests, and bytes of a run's file, in which a repeated request is detected."""
QUIET = 60.0
"""Seconds without requests after which a run is over."""
JSON, PROTOBUF = "application/json", "application/x-protobuf"

log = logging.getLogger(__name__)


class OtlpIntake:
    """Accepts requests. A sender without an answer repeats its request; a repeated request with the same bytes is
    stored once."""

    def __init__(self, workspace: Path, quiet: float = QUIET) -> None:
        self._workspace = workspace
        self._quiet = quiet
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._file = -1
        self._last = 0.0
        self._taken: OrderedDict[bytes, None] = OrderedDict()
        """Hashes of the newest requests."""

    @property
    def is_busy(self) -> bool:
        """Whether there is a live run."""
        return self._folder is not None

    def take(self, document: dict[str, Any]) -> None:
        """Store the data of a request. Raises `ClewError` or `OSError`; then none of it is stored."""
        line = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
        with self._lock:
            if self._folder is None or not self._folder.is_dir():
                self._begin(self._left_behind())
            self._last = time.monotonic()
            which = _hash(line)
            if which in self._taken:
                return
            size = os.fstat(self._file).st_size
            try:
                written = os.write(self._file, line)
                while written < len(line):
                    written += os.write(self._file, line[written:])
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._file, size)
                raise
            self._note(which)

    def resume(self) -> None:
        """Continue the run of a relay that was killed; the run is over if no request has come since."""
        with self._lock:
            folder = self._left_behind() if self._folder is None else None
            if folder is not None:
                silent = time.time() - (folder / FILE).stat().st_mtime
                self._begin(folder)
                self._last = time.monotonic() - max(0.0, silent)

    def look(self) -> None:
        """End the run after the quiet time; to be called periodically."""
        if self._folder is not None and time.monotonic() - self._last > self._quiet:
            self.end()

    def end(self) -> None:
        with self._lock:
            folder, self._folder = self._folder, None
            if self._file >= 0:
                os.close(self._file)
            self._file = -1
            self._taken.clear()
        if folder is not None and folder.is_dir():
            try:
                finish_import(folder, folder / FILE)
            except (ClewError, OSError) as error:
                log.warning("%s: cannot save the OTLP data as a run: %s", folder, error)

    def _begin(self, folder: Path | None) -> None:
        """Open the given run, else a new one."""
        if self._file >= 0:  # of a run that was removed
            os.close(self._file)
            self._file = -1
        self._taken.clear()
        if folder is None:
            folder, info = create_run(
                self._workspace, name="otlp", command=["clew", "relay"], spec="", plan=dump(Plan())
            )
        else:
            info = load_run(folder)
            save_run(folder, info._replace(launcher=os.getpid(), finished=None, imported=0))
        self._file = os.open(folder / FILE, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        _end_with_a_line(self._file)
        for line in _last_lines(self._file):
            self._note(_hash(line))
        self._folder = folder

    def _note(self, which: bytes) -> None:
        self._taken[which] = None
        while len(self._taken) > MOST_TAKEN:
            self._taken.popitem(last=False)

    def _left_behind(self) -> Path | None:
        """Return the newest run that began here and whose relay was killed, possibly during the import."""
        for folder, info in list_runs(self._workspace):
            if isinstance(info, Exception) or not (folder / FILE).exists() or (folder / ORIGIN_FILE).exists():
                continue
            broken_off = info.imported > 0 and not is_imported(folder, info)
            if broken_off or (info.finished is None and not is_running(info.launcher, info.started)):
                return folder
        return None


def _hash(line: bytes) -> bytes:
    return hashlib.blake2b(line, digest_size=16).digest()


def _last_lines(file: int) -> Iterator[bytes]:
    """Yield the newest complete lines, each with its end."""
    size = os.fstat(file).st_size
    begin = max(0, size - MOST_AGAIN)
    with os.fdopen(os.dup(file), "rb") as lines:
        lines.seek(begin)
        if begin:
            lines.readline()
        yield from lines


def _end_with_a_line(file: int) -> None:
    """Remove an incomplete line of a writer that was killed. Its sender had no answer and sends it again."""
    size = os.fstat(file).st_size
    while size:
        begin = max(0, size - (1 << 16))
        newline = os.pread(file, size - begin, begin).rfind(b"\n")
        if newline >= 0:
            size = begin + newline + 1
            break
        size = begin
    os.ftruncate(file, size)


class OtlpServer(ThreadingHTTPServer):
    """Call `serve_forever` in one thread and `close` from another. Raises `ListenError`."""

    daemon_threads = True
    allow_reuse_port = False

    def __init__(self, listening: Listening, intake: OtlpIntake) -> None:
        self.token = listening.token
        self.intake = intake
        with listening.refusing():
            super().__init__((listening.host, listening.port), _Handler)
        tls = listening.tls()
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def server_bind(self) -> None:
        # Skip the base class's look-up of the host name, which can take seconds.
        socketserver.TCPServer.server_bind(self)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.debug("connection of %s ended", client_address, exc_info=True)

    def close(self) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: OtlpServer
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_POST(self) -> None:
        self.close_connection = True  # unread bytes would be parsed as the next request
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not secrets.compare_digest(token.strip().encode(), self.server.token.encode()):
            return self._answer(
                HTTPStatus.UNAUTHORIZED, "the token is missing or wrong; send `Authorization: Bearer TOKEN`"
            )
        if self.path.partition("?")[0] not in PATHS:
            return self._answer(HTTPStatus.NOT_FOUND, f"send OTLP to {' or '.join(PATHS)}")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return self._answer(HTTPStatus.LENGTH_REQUIRED, "the request has no Content-Length")
        if int(length) > MOST_BYTES:
            return self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request is larger than {MOST_BYTES} bytes")
        body = self.rfile.read(int(length))
        self.close_connection = False
        try:
            self.server.intake.take(_document(body, self._kind(), self.headers.get("Content-Encoding", "")))
        except (FormatError, ValueError, RecursionError) as error:
            return self._answer(HTTPStatus.BAD_REQUEST, f"invalid OTLP: {error}")
        except (ClewError, OSError) as error:
            return self._answer(HTTPStatus.SERVICE_UNAVAILABLE, f"cannot save it: {error}")
        return self._answer(HTTPStatus.OK, "")

    def _kind(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    def _answer(self, status: HTTPStatus, message: str) -> None:
        is_protobuf = self._kind() == PROTOBUF and not message
        body = b"" if is_protobuf else json.dumps({"message": message} if message else {}).encode()
        self.send_response(status)
        self.send_header("Content-Type", PROTOBUF if is_protobuf else JSON)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        log.debug("%s answered", self.address_string())


def _document(body: bytes, kind: str, encoding: str) -> dict[str, Any]:
    """Return a request's body in the JSON form. Raises `FormatError` or `ValueError`."""
    if encoding == "gzip":
        inflate = zlib.decompressobj(31)
        try:
            body = inflate.decompress(body, MOST_BYTES + 1)
        except zlib.error as error:
            raise ValueError(f"its gzip data is damaged ({error})") from None
        if len(body) > MOST_BYTES or not inflate.eof:
            raise ValueError(f"it is truncated, or larger than {MOST_BYTES} bytes")
    elif encoding not in ("", "identity"):
        raise ValueError(f"its encoding {encoding!r} is unknown; send it uncompressed or as gzip")
    if kind == PROTOBUF:
        return otlp_protobuf.of_message(body, Path("the request"))
    if kind != JSON:
        raise ValueError(f"its type {kind!r} is neither {JSON} nor {PROTOBUF}")
    document = json.loads(body)
    if not isinstance(document, dict) or not any(isinstance(document.get(name), list) for name in RESOURCES):
        raise ValueError('expected an object with "resourceSpans" or "resourceLogs"')
    return {name: value for name, value in document.items() if name in RESOURCES}
