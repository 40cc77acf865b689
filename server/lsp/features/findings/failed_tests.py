"""Failed tests of the selected run in the editor: diagnostics, hovers and code actions at the lines that failed.

Suspects are computed in the background whenever a run ends or another one is selected. Invariant: a failure never appears at a
line that may be another one: a file that was edited since has no diagnostics of it, and its other lines are mapped.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.records.run.directory import load_run
from clew.server.locations.line_mapping import places
from clew.server.locations.paths import same_file_key
from clew.server.locations.text_diff import lines_of
from clew.server.lsp.positions import line_range, utf16_length
from clew.server.protocol.codec import encode
from clew.server.protocol.shared import Location, Target
from clew.server.protocol.views.answer import FailedTest
from clew.server.protocol.views.slice import SliceParams
from clew.server.session.session import Cancelled, Session, Task, fingerprint_of

if TYPE_CHECKING:
    from clew.server.lsp.server import ClewServer
    from clew.server.session.session import Fingerprint

log = logging.getLogger(__name__)

SOURCE = "clew"
CODE = "failed-test"
KIND = types.CodeActionKind.QuickFix
COMMAND = "clew.openSlice"
MOST_SHOWN = 2
"""The most tests that a hover or the code actions of one line explain."""
NEVER = (0, None)


@dataclass(frozen=True)
class Failures:
    """The failed tests of a run."""

    run: str
    folder: Path
    tests: tuple[FailedTest, ...]

    def at(self, session: Session, path: str, text: str | None, line: int) -> list[FailedTest]:
        """Return the tests that failed at a line (from 1) of the present text, or whose exception was raised there."""
        there = places(session, self.folder, path, text)
        found = []
        for test in self.tests:
            for location in _locations(test):
                if same_file_key(location.path) == same_file_key(path):
                    now = there.line(location.line)
                    if now.line == line and now.state != "stale" and test not in found:
                        found.append(test)
        return found

    def files(self) -> dict[str, str]:
        """Return the files with lines of tests that failed, by `same_file_key`."""
        return {
            same_file_key(test.location.path): test.location.path for test in self.tests if test.location is not None
        }


class FailedTests:
    def __init__(self, server: ClewServer) -> None:
        self._server = server
        self._work: asyncio.Task[None] | None = None
        self.found: Failures | None = None
        self._of: tuple[Path, Fingerprint] | None = None
        """The run that was read last."""

    def refresh(self) -> None:
        """Read the selected run again if it is another one, and show its failed tests."""
        if self._work is not None:
            self._work.cancel()
        self._work = asyncio.get_running_loop().create_task(self._refresh())

    def stop(self) -> None:
        if self._work is not None:
            self._work.cancel()

    async def _refresh(self) -> None:
        server = self._server
        try:
            wanted = await asyncio.to_thread(_failed_session, server.session) if server.settings.failed_tests else None
            if wanted != self._of:
                found = None
                if wanted is not None:
                    found = await server.work("clew: failed tests", lambda task: _read(server.session, wanted[0], task))
                before, self.found, self._of = self.found, found, wanted
                files = (before.files() if before else {}) | (found.files() if found else {})
                for key, path in files.items():
                    await server.comparison.send(key, path)
        except Cancelled:
            return
        except ClewError as error:
            log.info("no suspects of failed tests: %s", error)
        except Exception:
            log.exception("the suspects of failed tests were not found")

    def concerns(self, path: str) -> bool:
        """Return whether a file may have diagnostics."""
        return self.found is not None and same_file_key(path) in self.found.files()

    def diagnostics(self, path: str) -> list[types.Diagnostic]:
        """Return the diagnostics of a file: one for each line at which tests failed. This compares texts."""
        found = self.found
        if found is None or not self.concerns(path):
            return []
        there = places(self._server.session, found.folder, path)
        if there.text is None or there.recorded is None or there.differs:
            return []
        lines = lines_of(there.text)
        failed: dict[int, list[FailedTest]] = {}
        for test in found.tests:
            if test.location is not None and same_file_key(test.location.path) == same_file_key(path):
                failed.setdefault(test.location.line, []).append(test)
        return [
            types.Diagnostic(
                range=_text_range(line, lines[line - 1]),
                message=_message(tests, str(self._server.session.workspace)),
                severity=types.DiagnosticSeverity.Warning,
                source=SOURCE,
                code=CODE,
            )
            for line, tests in failed.items()
            if 0 < line <= len(lines)
        ]

    def hover(self, path: str, text: str, line: int) -> str:
        """Return the answer for the tests that failed at a line (from 1), in Markdown; "" for none."""
        from clew.server.lsp.features.hover import command_link
        from clew.server.text.failed_test import markdown_of

        found = self.found
        if found is None:
            return ""
        parts = []
        for test in found.at(self._server.session, path, text, line)[:MOST_SHOWN]:
            link = (
                command_link("Why did this test fail?", COMMAND, _params(found, test))
                if self._server.options.panel
                else ""
            )
            answer = markdown_of(test, str(self._server.session.workspace))
            parts.append(f"{answer}\n{link}".rstrip())
        return "\n\n---\n\n".join(parts)

    def actions(self, path: str, text: str, line: int) -> Iterator[types.Command]:
        """Yield the question about each test that failed at a line (from 1)."""
        found = self.found
        tests = found.at(self._server.session, path, text, line)[:MOST_SHOWN] if found is not None else []
        for test in tests:
            assert found is not None
            title = "clew: Why did this test fail?"
            if len(tests) > 1:
                title = f"clew: Why did {test.test.rpartition('::')[2]} fail?"
            yield types.Command(title=title, command=COMMAND, arguments=[encode(_params(found, test))])


def _params(found: Failures, test: FailedTest) -> SliceParams:
    return SliceParams(Target(test=test.test), run=found.run)


def _locations(test: FailedTest) -> list[Location]:
    return [location for location in (test.location, test.raised) if location is not None]


def _failed_session(session: Session) -> tuple[Path, Fingerprint] | None:
    """Return the selected run if it is a session of tests that failed."""
    if not session.has_runs():
        return None
    folder = session.folder()
    info = load_run(folder)
    if not info.tests or info.finished is None or info.exit_code in NEVER:
        return None
    return folder, fingerprint_of(folder)


def _read(session: Session, folder: Path, task: Task) -> Failures:
    from clew.server.views.failed_test import all_failed

    run = session.open(folder.name, task)
    with task.interruptible():
        return Failures(folder.name, folder, tuple(all_failed(session, run, task).tests))


def _message(tests: list[FailedTest], base: str) -> str:
    from clew.server.text.failed_test import brief

    first, others = tests[0], len(tests) - 1
    exception = f": {first.exception}" if first.exception else ""
    more = f" (and {others} more test{'s' * (others > 1)} at this line)" if others else ""
    suspects = f"\nSuspects: {brief(first, base)}" if first.suspects else ""
    return f"{first.test.rpartition('::')[2]} {first.outcome}{exception}{more}{suspects}"


def _text_range(line: int, text: str) -> types.Range:
    """Return the range of a line's text, without its indentation."""
    return line_range(line, utf16_length(text) - utf16_length(text.lstrip()), utf16_length(text.rstrip()))
