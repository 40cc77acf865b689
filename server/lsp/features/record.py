"""Records the workspace's programs and tests: lenses that offer it, and the commands for editors without the extension.

The programs run as child processes of the server, which shows their progress; their output goes to a file. Invariant:
to stop a program, the server first sends Ctrl-C and gives it time to end by itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from clew.records.errors import ClewError
from clew.records.run.directory import FOLDER
from clew.server.lsp.positions import line_range, uri_of
from clew.server.protocol.codec import decode, encode
from clew.server.protocol.recording import ProgressParams, ProgressResult, Recordable, RecordableParams
from clew.server.recording.targets import entries, recordables
from clew.server.session.session import Cancelled, Session, Task
from clew.server.text import units

if TYPE_CHECKING:
    from clew.server.lsp.server import ClewServer

LOOK_SECONDS = 1.0
GRACE_SECONDS = 10.0
"""Seconds after Ctrl-C before a program is terminated."""
MAX_CHOICES = 12
OUTPUT = "output"
"""The folder of the programs' output, in the workspace's `.clew`."""


def lenses(path: str, text: str) -> list[types.CodeLens]:
    """Return a "record" lens above each test of a file, and above its `if __name__ == "__main__":`."""
    found = []
    for entry in entries(Path(path).name, text):
        params = RecordableParams(path, entry.line, kind="test" if entry.name else "file")
        command = types.Command(title="record", command="clew.record", arguments=[encode(params)])
        found.append(types.CodeLens(range=line_range(entry.line), command=command))
    return found


def register(server: ClewServer) -> None:
    recorder = Recorder(server)

    @server.command("clew.record")
    async def record(*arguments: Any) -> None:
        try:
            params = decode(RecordableParams, arguments[0]) if arguments else RecordableParams()
        except ClewError as error:
            server.tell(str(error), types.MessageType.Warning)
        else:
            await recorder.record(params)

    @server.command("clew.recordAgain")
    async def record_again(*_arguments: Any) -> None:
        await recorder.again()

    @server.command("clew.stopRecording")
    async def stop(*_arguments: Any) -> None:
        recorder.stop()


class Recorder:
    def __init__(self, server: ClewServer) -> None:
        self._server = server
        self._last: Recordable | None = None
        self._running: list[Task] = []
        self._works: set[asyncio.Task[None]] = set()

    async def record(self, params: RecordableParams) -> None:
        """Record the target that `params` name, or that the user chooses."""
        found = recordables(self._server.session, params)
        if not found.recordables:
            self._server.tell(found.message, types.MessageType.Warning)
            return
        named = params.kind or params.command
        chosen = found.recordables[0] if named else await self._ask(found.recordables)
        if chosen is not None:
            self._begin(chosen)

    async def again(self) -> None:
        if self._last is None:
            await self.record(RecordableParams())
        else:
            self._begin(self._last)

    def stop(self) -> None:
        if not self._running:
            self._server.tell("no recording is running")
        for task in self._running:
            task.cancel()

    async def _ask(self, found: list[Recordable]) -> Recordable | None:
        titles = {f"{one.name}: {one.detail}": one for one in found[:MAX_CHOICES]}
        answer = await self._server.window_show_message_request_async(
            types.ShowMessageRequestParams(
                type=types.MessageType.Info,
                message="Select what to record",
                actions=[types.MessageActionItem(title=title) for title in titles],
            )
        )
        return titles.get(answer.title) if answer else None

    def _begin(self, what: Recordable) -> None:
        """The command returns at once, because otherwise the editor would wait for the program's end."""
        self._last = what
        work = asyncio.get_running_loop().create_task(self._run(what))
        self._works.add(work)
        work.add_done_callback(self._works.discard)

    async def _run(self, what: Recordable) -> None:
        session = self._server.session
        try:
            ended = await self._server.work(
                f"clew: recording {what.name}", lambda task: self._attend(session, what, task), apart=True
            )
        except (ClewError, OSError) as error:
            self._server.tell(f"{what.name} was not recorded: {error}", types.MessageType.Warning)
            return
        code, output, last = ended
        run = f" as {last.run.id}" if last.run else ", but nothing was recorded"
        self._server.tell(f"{what.name} ended with exit code {code}{run}; its output is in {output}")
        window = self._server.client_capabilities.window
        if code != 0 and window and window.show_document and window.show_document.support:
            await self._server.window_show_document_async(types.ShowDocumentParams(uri=uri_of(str(output))))

    def _attend(self, session: Session, what: Recordable, task: Task) -> tuple[int, Path, ProgressResult]:
        """Run the program to its end; return its exit code, the file of its output, and the last progress."""
        from clew.server.recording.progress import progress  # this loads the graph

        self._running.append(task)
        try:
            folder = session.workspace / FOLDER / OUTPUT
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            output = folder / f"{time.strftime('%Y%m%d-%H%M%S')}-{_slug(what.name)}.log"
            environment = os.environ | dict(pair.split("=", 1) for pair in what.environment)
            with output.open("wb") as file:
                program = subprocess.Popen(
                    what.command, cwd=what.cwd, env=environment, stdin=subprocess.DEVNULL, stdout=file, stderr=file
                )
            params = ProgressParams(program.pid, look=True)
            while program.poll() is None:
                try:
                    program.wait(LOOK_SECONDS)
                except subprocess.TimeoutExpired:
                    try:
                        task.phase(progress_text(progress(session, params, Task())))
                    except Cancelled:
                        _end(program)
            return program.wait(), output, progress(session, ProgressParams(program.pid), Task())
        finally:
            self._running.remove(task)


def progress_text(now: ProgressResult) -> str:
    """Return the progress text: `12 s · 3.4 MB · 120,000 events · 2 errors · most time in shop.look_up`."""
    if now.run is None:
        return "starting"
    parts = [f"{now.elapsedNs // 1_000_000_000} s", units.size(now.bytes)]
    if now.looked:
        parts.append(units.count(now.events, "event"))
        if now.errors:
            parts.append(units.count(now.errors, "error"))
        if now.slowest:
            parts.append(f"most time in {units.short_label(now.slowest)}")
    return " · ".join(parts)


def _end(program: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        program.send_signal(number)
        try:
            program.wait(GRACE_SECONDS)
            return
        except subprocess.TimeoutExpired:
            continue
    program.kill()


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)[:60]
