"""Changes since the baseline, in the code: lenses and diagnostics on the functions that a comparison names.

The comparison runs in the background whenever a run ends, another baseline is chosen or a setting changes. Invariant:
findings never appear at a line that may belong to another function. If a text differs from the recorded one, a function
is found by its name or not shown.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from clew.records.errors import ClewError
from clew.server.locations.definitions import Definition
from clew.server.locations.line_mapping import Places, places
from clew.server.locations.paths import same_file_key
from clew.server.locations.text_diff import lines_of
from clew.server.lsp.positions import def_range, line_range, location_of, path_of, uri_of
from clew.server.protocol.codec import encode
from clew.server.protocol.views.compare import CompareParams
from clew.server.protocol.views.localize import LocalizeParams
from clew.server.session.session import Cancelled, Session, fingerprint_of

if TYPE_CHECKING:
    from clew.server.functions.regressions import Finding, Findings, Place
    from clew.server.lsp.server import ClewServer
    from clew.server.session.baseline import Baseline
    from clew.server.session.session import Fingerprint

log = logging.getLogger(__name__)

SOURCE = "clew"
PAUSE = 0.3
"""Seconds without a keystroke before the diagnostics of a changed text are placed again."""


_COMMANDS = {CompareParams: "clew.openCompare", LocalizeParams: "clew.findSuspects"}
"""The command that opens the panel, by type of parameters."""


@dataclass(frozen=True)
class _Pair:
    """The baseline and the run to compare, in their present state."""

    before: Baseline
    after: str
    files: tuple[Fingerprint, ...]


class Comparison:
    """The findings that are shown, and the comparison in progress."""

    def __init__(self, server: ClewServer) -> None:
        self._server = server
        self.findings: Findings | None = None
        self._pair: _Pair | None = None
        self._look: asyncio.Task[None] | None = None
        self._work: asyncio.Task[None] | None = None
        self._publishing: asyncio.Task[None] | None = None
        self._shown: tuple[Findings | None, bool, bool] = (None, False, False)
        """The findings that are shown; whether as lenses; whether as diagnostics."""
        self._published: dict[str, str] = {}
        """Maps the `same_file_key` of a file with diagnostics to its URI."""

    def refresh(self) -> None:
        """Show the current findings; start a comparison if another pair of runs is to be compared."""
        if self._look is not None:
            self._look.cancel()
        self._look = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        settings = self._server.settings
        target = None
        if settings.compare_code_lens or settings.compare_diagnostics:
            try:
                # This reads files and calls git.
                target = await asyncio.to_thread(wanted_pair, self._server.session)
            except ClewError as error:
                self._server.show_once(f"cannot compare with the baseline: {error}")
        if target == self._pair:
            self._show()
            return
        self._pair = target
        if self._work is not None:
            self._work.cancel()
            self._work = None
        if target is None:
            self.findings = None
            self._show()
        else:
            self._work = asyncio.get_running_loop().create_task(self._compare(target))

    async def _compare(self, pair: _Pair) -> None:
        from clew.server.functions.regressions import find

        server = self._server
        found = None
        try:
            found = await server.work(
                f"clew: comparing with {pair.before.name}",
                lambda task: find(server.session, pair.before, pair.after, task),
            )
        except Cancelled:
            pass  # cancelled by the user: the next change starts it again
        except ClewError as error:
            server.show_once(f"run {pair.after} was not compared with the baseline: {error}")
        except Exception:
            log.exception("comparing %s with %s failed", pair.after, pair.before.name)
            server.show_once(
                "clew could not compare with the baseline; this is a bug in clew; see the language server's output"
            )
        if pair == self._pair:
            self.findings = found
            self._show()

    def stop(self) -> None:
        for task in (self._look, self._work, self._publishing):
            if task is not None:
                task.cancel()

    def _show(self) -> None:
        settings = self._server.settings
        displayed = self.findings, settings.compare_code_lens, settings.compare_diagnostics
        before, self._shown = self._shown, displayed
        if self._shown == before or (displayed[0] is None and before[0] is None):
            return
        if (displayed[0], displayed[1]) != (before[0], before[1]):
            self._server.refresh_lenses()
        self.publish()

    # Lenses

    def lenses(self, path: str, text: str) -> list[types.CodeLens]:
        """Return the lenses of a Python text, with their commands, because all data is available."""
        if self.findings is None or not self._server.settings.compare_code_lens:
            return []
        texts = _Texts(self._server.session, {path: text})
        made = []
        for finding in self.findings.in_file(path):
            definition = texts.definition(finding.place)
            if definition is not None:
                command = types.Command(
                    title=f"{finding.short} — why?",
                    command=_COMMANDS[type(finding.params)],
                    arguments=[encode(finding.params)],
                )
                made.append(types.CodeLens(range=line_range(definition.line), command=command))
        return made

    # Diagnostics

    def publish(self) -> None:
        """Send the diagnostics of all files that have some, and clear those of files that no longer have any."""
        if self._publishing is not None:
            self._publishing.cancel()
        self._publishing = asyncio.get_running_loop().create_task(self._publish())

    async def _publish(self) -> None:
        uris: dict[str, str] = {}
        if self.findings is not None and self._server.settings.compare_diagnostics:
            inside = Path(same_file_key(str(self._server.session.workspace)))
            for finding in self.findings.rows:
                key = same_file_key(finding.place.path)
                if Path(key).is_relative_to(inside):
                    uris[key] = self._published.get(key) or self._uri(key, finding.place.path)
        before = self._published
        # If this is cancelled, the next call clears what was sent.
        self._published = before | uris
        for key in [*uris, *(gone for gone in before if gone not in uris)]:
            await self._send(uris.get(key) or before[key], key, compared=key in uris)
        self._published = uris

    def _uri(self, key: str, path: str) -> str:
        """Return the editor's URI of the file if it is open there."""
        for document in list(self._server.workspace.text_documents.values()):
            if same_file_key(path_of(document.uri)) == key:
                return str(document.uri)
        return uri_of(path)

    async def text_changed(self, uri: str, version: int | None) -> None:
        """Handle a changed text: after a pause, move its diagnostics to the present locations of its functions."""
        key, failed = same_file_key(path_of(uri)), self._server.failed_tests
        if key not in self._published and not failed.concerns(key):
            return
        await asyncio.sleep(PAUSE)
        document = self._server.open_document(uri)
        if document is not None and document.version == version and (key in self._published or failed.concerns(key)):
            await self._send(uri, key, compared=key in self._published)

    async def send(self, key: str, path: str) -> None:
        """Send the diagnostics of a file again, because those of another feature changed."""
        await self._send(self._published.get(key) or self._uri(key, path), key, compared=key in self._published)

    async def _send(self, uri: str, path: str, *, compared: bool) -> None:
        """Send all diagnostics of a Python file: those of changes, and those of failed tests."""
        findings = self.findings if compared else None
        # This compares texts.
        found = await asyncio.to_thread(_diagnostics, self._server.session, findings, path) if findings else []
        found += await asyncio.to_thread(self._server.failed_tests.diagnostics, path)
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=found))


def _diagnostics(session: Session, findings: Findings, path: str) -> list[types.Diagnostic]:
    texts = _Texts(session)
    return [one for finding in findings.in_file(path) for one in diagnostic(finding, texts)]


def wanted_pair(session: Session) -> _Pair | None:
    """Return the pair to compare: None without a baseline, or if the selected run is the baseline or is live. Raises
    `ClewError`."""
    after = session.compared()
    before = session.baseline(without=after)
    if before is None or not after or after in before.runs:
        return None
    return _Pair(before, after, tuple(fingerprint_of(session.folder(run)) for run in (*before.runs, after)))


class _Texts:
    """The user's present texts of files; each is read once."""

    def __init__(self, session: Session, given: Mapping[str, str] | None = None) -> None:
        self._session = session
        self._given = {same_file_key(path): text for path, text in (given or {}).items()}
        self._known: dict[tuple[str, Path], Places] = {}

    def find(self, function: Place) -> tuple[Definition, str] | None:
        """Return a function's definition, if it is certain, and its line."""
        definition, text = self.definition(function), self._places(function).text
        return (definition, lines_of(text)[definition.line - 1]) if text is not None and definition else None

    def definition(self, function: Place) -> Definition | None:
        return self._places(function).function(function.qualname, function.line).definition

    def _places(self, function: Place) -> Places:
        key = same_file_key(function.path), function.folder
        if key not in self._known:
            text = self._given.get(key[0])
            self._known[key] = places(self._session, function.folder, function.path, text)
        return self._known[key]


def diagnostic(finding: Finding, texts: _Texts) -> list[types.Diagnostic]:
    """Return the diagnostic, or an empty list if its location is uncertain."""
    found = texts.find(finding.place)
    if found is None:
        return []
    related = [(words, other, texts.find(other)) for words, other in finding.related]
    return [
        types.Diagnostic(
            range=def_range(found[0].line, found[1], found[0].qualname),
            message=finding.sentence,
            severity=types.DiagnosticSeverity.Information,
            source=SOURCE,
            code=finding.kind,
            related_information=[
                types.DiagnosticRelatedInformation(location_of(other.path, there[0].line), words)
                for words, other, there in related
                if there is not None
            ],
        )
    ]
