"""The language server: pygls with clew's features, its custom requests, and the one way to do long work off the event
loop.

Invariant: the event loop never waits for a graph. Long work runs in a worker thread and can be cancelled between two
phases. Errors reach the user as one sentence.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import cattrs
from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcRequestCancelled
from pygls.lsp.server import LanguageServer
from pygls.protocol import JsonRPCNotification, JsonRPCRequestMessage, default_converter
from pygls.workspace import TextDocument

from clew import __version__
from clew.records.errors import ClewError
from clew.records.run.directory import FOLDER, workspace_of
from clew.server import handlers, protocol
from clew.server.locations.function_at_line import present
from clew.server.lsp.features import (
    call_hierarchy,
    code_lens,
    commands,
    configuration,
    definition,
    diagnostics,
    document_links,
    hover,
    inlay_hints,
    record,
    walk,
)
from clew.server.lsp.features.esl import all_features
from clew.server.lsp.features.findings.comparison import Comparison
from clew.server.lsp.features.findings.failed_tests import FailedTests
from clew.server.lsp.features.function_data import FunctionData
from clew.server.lsp.features.live import Live
from clew.server.lsp.positions import line_range, path_of, uri_of
from clew.server.lsp.settings import Settings
from clew.server.protocol.codec import decode
from clew.server.protocol.host import ClientOptions
from clew.server.protocol.registry import METHODS
from clew.server.protocol.session import PresentParams
from clew.server.protocol.shared import Location
from clew.server.session.run_watcher import Watcher
from clew.server.session.session import Cancelled, Session, Task
from clew.server.session.specs import Specs

T = TypeVar("T")
WORKERS = 3
PROGRESS_DELAY = 0.4
"""Seconds of work after which a progress bar appears."""

log = logging.getLogger(__name__)


class RequestFailed(JsonRpcException):
    """An error that the user can act on, with a message for the user."""

    CODE = types.LSPErrorCodes.RequestFailed
    MESSAGE = "The request failed"


class ClewServer(LanguageServer):
    """`session` exists from the client's `initialize` on."""

    def __init__(self) -> None:
        super().__init__("clew", __version__, converter_factory=_converter)
        self.session = Session(Path.cwd())
        self.options = ClientOptions()
        self.settings = Settings()
        self.comparison = Comparison(self)
        self.failed_tests = FailedTests(self)
        self.function_data = FunctionData(self)
        self.live = Live(self)
        self.specs = Specs(lambda: self.session, self.open_specs)
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="clew-work")
        self._watcher: Watcher | None = None
        self._shown_once: set[str] = set()
        self._tasks: set[Task] = set()
        """Tasks in progress."""
        self.may_exit = False
        """Whether the client has announced that it will end the server."""
        self._given_up = False
        self._reporting = False
        self._loop: asyncio.AbstractEventLoop | None = None

    async def work(self, title: str, function: Callable[[Task], T], *, apart: bool = False) -> T:
        """Run `function(task)` in a worker thread, or with `apart` in its own thread, for work of unlimited duration.
        Raises what it raises. If the request is cancelled, the task is cancelled too. Raises `Cancelled` after
        `give_up`."""
        if self._given_up:
            raise Cancelled
        loop = asyncio.get_running_loop()
        task = Task(lambda what: _from_thread(loop, progress.phase, what))
        self._tasks.add(task)
        progress = Progress(self, title, task)
        bar = asyncio.create_task(progress.show())
        bar.add_done_callback(_log_failure)
        try:
            return await loop.run_in_executor(None if apart else self._workers, function, task)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            progress.end()
            self._tasks.discard(task)

    def show_once(self, message: str) -> None:
        """Show a message unless the user has seen it, because editors repeat requests at every keystroke."""
        if message not in self._shown_once:
            self._shown_once.add(message)
            self.tell(message, types.MessageType.Warning)

    def tell(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        self.window_show_message(types.ShowMessageParams(type=kind, message=message))

    async def show_location(self, message: str, place: Location | None, run: str) -> None:
        """Show a message, and move the editor to the present location of a recorded one. For a client that cannot be
        moved the message includes the location. The message states whether the location is stale."""
        if place is None:
            self.tell(message)
            return
        now = await self.work("clew", lambda _: present(self.session, PresentParams(place, run)))
        gone = now.message if now.state == "stale" else ""
        if not self._shows:
            where = f"{now.location.path}:{now.location.line}"
            self.tell(f"{message}\nat {where} ({gone})" if gone else f"{message}\nat {where}")
            return
        self.tell(message)
        if gone:
            self.tell(gone)
        await self.show(types.Location(uri_of(place.path), line_range(now.location.line, 0, 0)))

    async def show(self, place: types.Location) -> None:
        """Move the editor to a location, if the client supports that."""
        if self._shows:
            await self.window_show_document_async(
                types.ShowDocumentParams(uri=place.uri, take_focus=True, selection=place.range)
            )

    @property
    def _shows(self) -> bool:
        window = self.client_capabilities.window
        return bool(window and window.show_document and window.show_document.support)

    def open_texts(self) -> Iterator[tuple[str, str]]:
        """Yield the path and the text of each file that the client has open."""
        for document in list(self.workspace.text_documents.values()):
            yield path_of(document.uri), str(document.source)

    def open_document(self, uri: str) -> TextDocument | None:
        """Return the document that the client has open under this URI."""
        # pygls stores documents by the decoded URI.
        document: TextDocument | None = self.workspace.text_documents.get(urllib.parse.unquote(uri))
        return document

    def document(self, uri: str) -> TextDocument:
        """Return the client's open document, else the file, with invalid UTF-8 replaced; the text is empty if it cannot
        be read."""
        document = self.open_document(uri)
        if document is None:
            text = self.session.text(path_of(uri)) or ""
            document = TextDocument(uri, text, position_codec=self.workspace.position_codec)
        return document

    def open_specs(self) -> list[str]:
        """Return the paths of the specs that the client has open."""
        paths = [path_of(document.uri) for document in list(self.workspace.text_documents.values())]
        return [path for path in paths if path.endswith(".esl")]

    def begin(self, params: types.InitializeParams) -> None:
        """Handle the client's `initialize`: the workspace and the client's options are known."""
        try:
            self.options = decode(ClientOptions, params.initialization_options or {}, "initializationOptions")
        except ClewError as error:
            self.tell(str(error), types.MessageType.Warning)
        folder = self.options.workspace
        if not folder and params.workspace_folders:
            folders = [path_of(each.uri) for each in params.workspace_folders]
            folder = next((each for each in folders if (Path(each) / FOLDER / "runs").is_dir()), folders[0])
        folder = folder or (path_of(params.root_uri) if params.root_uri else params.root_path or "")
        self.session = Session(workspace_of(Path(folder or ".")))
        self.session.open_texts = self.open_texts
        if not self.options.panel:
            commands.register(self)
            record.register(self)
            walk.register(self)

    def watch(self) -> None:
        """Handle the client's `initialized`: from now on the server may send notifications."""
        self._loop = asyncio.get_running_loop()
        self._watcher = Watcher(self.session, lambda: _from_thread(self._loop, self.runs_changed))
        self._watcher.start()
        self.live.begin()

    def runs_changed(self) -> None:
        self._shown_once.clear()
        self.protocol.notify(protocol.RUNS_CHANGED, {})
        self.refresh_lenses()
        self.comparison.refresh()
        self.failed_tests.refresh()
        self.function_data.refresh()

    @property
    def asks_again_for_lenses(self) -> bool:
        """Whether the client requests lenses again on a refresh. Other clients get their only answer after all data was
        computed."""
        workspace = self.client_capabilities.workspace
        return bool(workspace and workspace.code_lens and workspace.code_lens.refresh_support)

    @property
    def asks_again_for_hints(self) -> bool:
        workspace = self.client_capabilities.workspace
        return bool(workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support)

    def refresh_lenses(self) -> None:
        """Refresh lenses and hints."""
        self.refresh_code_lenses()
        if self.asks_again_for_hints:
            self.workspace_inlay_hint_refresh(None)

    def refresh_code_lenses(self) -> asyncio.Future[None] | None:
        """Return a future that is done once the client has acknowledged the refresh; None if the client does not
        support it."""
        return asyncio.wrap_future(self.workspace_code_lens_refresh(None)) if self.asks_again_for_lenses else None

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Report an error outside of requests to the user. An error of the report itself is only logged: a client that
        no longer reads would get it reported again, which fails again."""
        if self._reporting:
            return
        self._reporting = True
        try:
            super().report_server_error(error, source)
        finally:
            self._reporting = False

    def give_up(self) -> None:
        """Cancel all work; no request waits for an answer any more."""
        self._given_up = True
        for task in list(self._tasks):
            task.cancel()

    def shutdown(self) -> None:
        self.give_up()
        if self._watcher is not None:
            self._watcher.stop()
        self.comparison.stop()
        self.failed_tests.stop()
        self.function_data.stop()
        self.live.stop()
        self._workers.shutdown(wait=False, cancel_futures=True)
        self.session.helpers.end()
        super().shutdown()  # type: ignore[no-untyped-call]  # pygls has no annotation here


class Progress:
    """A progress bar that appears when the work takes longer than `PROGRESS_DELAY`, if the client supports it. Its cancel
    button cancels the task."""

    def __init__(self, server: ClewServer, title: str, task: Task) -> None:
        self._server = server
        self._title = title
        self._task = task
        self._token = str(uuid.uuid4())
        self._last = ""
        self._shown = False
        self._ended = asyncio.Event()

    async def show(self) -> None:
        window = self._server.client_capabilities.window
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._ended.wait(), PROGRESS_DELAY)
        if self._ended.is_set() or window is None or not window.work_done_progress:
            return
        bars = self._server.work_done_progress
        # Never cancelled: pygls cannot handle an answer to a cancelled request.
        await bars.create_async(self._token)
        if self._ended.is_set():
            bars.tokens.pop(self._token, None)
            return
        bars.tokens[self._token].add_done_callback(lambda _: self._task.cancel())
        bars.begin(
            self._token, types.WorkDoneProgressBegin(title=self._title, message=self._last or None, cancellable=True)
        )
        self._shown = True

    def phase(self, what: str) -> None:
        self._last = what
        if self._shown:
            self._server.work_done_progress.report(self._token, types.WorkDoneProgressReport(message=what))

    def end(self) -> None:
        self._ended.set()
        bars = self._server.work_done_progress
        if self._shown:
            self._shown = False
            bars.tokens.pop(self._token, None)
            bars.end(self._token, types.WorkDoneProgressEnd())


def make_server() -> ClewServer:
    server = ClewServer()

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.begin(params)

    @server.feature(types.INITIALIZED)
    async def initialized(_params: types.InitializedParams) -> None:
        server.watch()
        await configuration.begin(server)

    @server.feature(types.SHUTDOWN)
    def shutdown(_params: None) -> None:
        server.may_exit = True
        server.give_up()

    for method in METHODS:
        server.feature(method)(_request(server, method))
    for feature in (
        call_hierarchy, code_lens, inlay_hints, hover, definition, document_links, diagnostics, configuration,
        *all_features.FEATURES,
    ):  # fmt: skip
        feature.register(server)
    return server


def _request(server: ClewServer, method: str) -> Callable[[dict[str, Any]], Any]:
    async def handle(params: dict[str, Any]) -> Any:
        try:
            result = await server.work("clew", lambda task: handlers.answer(server.session, method, params, task))
        except Cancelled:
            raise JsonRpcRequestCancelled("cancelled") from None
        except ClewError as error:
            raise RequestFailed(str(error)) from None
        except Exception as error:
            log.exception("%s failed", method)
            raise RequestFailed(
                f"clew could not answer {method} ({type(error).__name__}: {error}); this is a bug in clew; see the "
                "language server's output"
            ) from None
        if method in ("clew/selectRun", "clew/chooseBaseline"):
            server.runs_changed()
        return result

    return handle


def _log_failure(bar: asyncio.Task[None]) -> None:
    if not bar.cancelled() and bar.exception() is not None:
        log.info("no progress bar: %s", bar.exception())


def _from_thread(loop: asyncio.AbstractEventLoop | None, function: Callable[..., None], *arguments: Any) -> None:
    # The loop may have ended in between.
    with contextlib.suppress(RuntimeError):
        if loop is not None:
            loop.call_soon_threadsafe(function, *arguments)


def _converter() -> cattrs.Converter:
    """pygls converts parameters of unknown requests to named tuples; clew's stay plain JSON."""
    converter: cattrs.Converter = default_converter()  # type: ignore[no-untyped-call]  # pygls has no annotation here
    converter.register_structure_hook(
        JsonRPCRequestMessage,
        lambda data, _: JsonRPCRequestMessage(data["id"], data["method"], data["jsonrpc"], data.get("params")),
    )
    converter.register_structure_hook(
        JsonRPCNotification,
        lambda data, _: JsonRPCNotification(data["method"], data["jsonrpc"], data.get("params")),
    )
    return converter


class _WithoutUserErrors(logging.Filter):
    """Prevents tracebacks in the log for errors that the user was shown."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], RequestFailed | JsonRpcRequestCancelled))


def serve_stdio() -> int:
    """Serve until the client says `exit` or disconnects; return the exit code, which is not 0 if this happened without
    `shutdown`. stdout carries the protocol; the log goes to stderr."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_WithoutUserErrors())
    server = make_server()
    server.start_io()
    return 0 if server.may_exit else 1
