"""What changed since the baseline, in the code: lenses and diagnostics on the functions that a comparison names.

The comparison runs in the background whenever a run ends, another baseline is chosen or a setting is changed.
Invariant: nothing is shown at a line that may be another function's: where a text is no longer what was recorded, a function
is found by its name or not shown at all.
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
from clew.server.codec import encode
from clew.server.files import same_file_key
from clew.server.line_map import lines_of
from clew.server.outline import Definition
from clew.server.positions import def_range, line_range, location_of, path_of, uri_of
from clew.server.present import Places, places
from clew.server.protocol import CompareParams, LocalizeParams
from clew.server.session import Cancelled, Session, fingerprint_of

if TYPE_CHECKING:
    from clew.server.baseline import Baseline
    from clew.server.findings import Finding, Findings, Place
    from clew.server.server import ClewServer
    from clew.server.session import Fingerprint

log = logging.getLogger(__name__)

SOURCE = "clew"
PAUSE = 0.3
"""Seconds without a keystroke before the diagnostics of a changed text are placed anew."""


_COMMANDS = {CompareParams: "clew.openCompare", LocalizeParams: "clew.findSuspects"}
"""What opens the panel with which question."""


@dataclass(frozen=True)
class _Pair:
    """A baseline and a run as they are now."""

    before: Baseline
    after: str
    files: tuple[Fingerprint, ...]


class Comparison:
    """Knows the findings that are shown, and the work that is under way for others."""

    def __init__(self, server: ClewServer) -> None:
        self._server = server
        self.findings: Findings | None = None
        self._pair: _Pair | None = None
        self._look: asyncio.Task[None] | None = None
        self._work: asyncio.Task[None] | None = None
        self._publishing: asyncio.Task[None] | None = None
        self._shown: tuple[Findings | None, bool, bool] = (None, False, False)
        """What is shown, as lenses, as diagnostics."""
        self._published: dict[str, str] = {}
        """By `same_file_key` the URI under which a file has diagnostics."""

    def refresh(self) -> None:
        """Shows what is to be shown now; where another pair of runs is to be compared, begins with that."""
        if self._look is not None:
            self._look.cancel()
        self._look = asyncio.get_running_loop().create_task(self._refresh())

    async def _refresh(self) -> None:
        settings = self._server.settings
        wanted = None
        if settings.compare_code_lens or settings.compare_diagnostics:
            try:
                # Files are looked at, and git is asked.
                wanted = await asyncio.to_thread(wanted_pair, self._server.session)
            except ClewError as error:
                self._server.tell_once(f"nothing is compared with the baseline: {error}")
        if wanted == self._pair:
            self._show()
            return
        self._pair = wanted
        if self._work is not None:
            self._work.cancel()
            self._work = None
        if wanted is None:
            self.findings = None
            self._show()
        else:
            self._work = asyncio.get_running_loop().create_task(self._compare(wanted))

    async def _compare(self, pair: _Pair) -> None:
        from clew.server.findings import find

        server = self._server
        found = None
        try:
            found = await server.work(
                f"clew: comparing with {pair.before.name}",
                lambda task: find(server.session, pair.before, pair.after, task),
            )
        except Cancelled:
            pass  # by the user: it is begun again when something changes
        except ClewError as error:
            server.tell_once(f"run {pair.after} was not compared with the baseline: {error}")
        except Exception:
            log.exception("comparing %s with %s failed", pair.after, pair.before.name)
            server.tell_once(
                "clew could not compare with the baseline; this is a mistake in clew, and the language server's "
                "output shows where"
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
        wanted = self.findings, settings.compare_code_lens, settings.compare_diagnostics
        before, self._shown = self._shown, wanted
        if self._shown == before or (wanted[0] is None and before[0] is None):
            return
        if (wanted[0], wanted[1]) != (before[0], before[1]):
            self._server.refresh_lenses()
        self.publish()

    # Lenses

    def lenses(self, path: str, text: str) -> list[types.CodeLens]:
        """Of a Python text; complete, as all that they say is known."""
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
        """Sends the diagnostics of all files that have some, and takes back those of files that have none any more."""
        if self._publishing is not None:
            self._publishing.cancel()
        self._publishing = asyncio.get_running_loop().create_task(self._publish())

    async def _publish(self) -> None:
        wanted: dict[str, str] = {}
        if self.findings is not None and self._server.settings.compare_diagnostics:
            inside = Path(same_file_key(str(self._server.session.workspace)))
            for finding in self.findings.rows:
                key = same_file_key(finding.place.path)
                if Path(key).is_relative_to(inside):
                    wanted[key] = self._published.get(key) or self._uri(key, finding.place.path)
        before = self._published
        # What is sent while this is cancelled is taken back by the next one.
        self._published = before | wanted
        for key in [*wanted, *(gone for gone in before if gone not in wanted)]:
            await self._send(wanted.get(key) or before[key], key if key in wanted else "")
        self._published = wanted

    def _uri(self, key: str, path: str) -> str:
        """As the editor calls the file, where it is open."""
        for document in list(self._server.workspace.text_documents.values()):
            if same_file_key(path_of(document.uri)) == key:
                return str(document.uri)
        return uri_of(path)

    async def text_changed(self, uri: str, version: int | None) -> None:
        """A text was changed: after a pause its diagnostics go where its functions are now."""
        if same_file_key(path_of(uri)) not in self._published:
            return
        await asyncio.sleep(PAUSE)
        document = self._server.open_document(uri)
        key = same_file_key(path_of(uri))
        if document is not None and document.version == version and key in self._published:
            await self._send(uri, key)

    async def _send(self, uri: str, path: str) -> None:
        findings = self.findings if path else None
        # Texts are compared.
        found = await asyncio.to_thread(_diagnostics, self._server.session, findings, path) if findings else []
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=found))


def _diagnostics(session: Session, findings: Findings, path: str) -> list[types.Diagnostic]:
    texts = _Texts(session)
    return [one for finding in findings.in_file(path) for one in diagnostic(finding, texts)]


def wanted_pair(session: Session) -> _Pair | None:
    """What is to be compared: None without a baseline, or where the run that is looked at is the baseline or is not over.
    Raises `ClewError`."""
    after = session.compared()
    before = session.baseline(without=after)
    if before is None or not after or after in before.runs:
        return None
    return _Pair(before, after, tuple(fingerprint_of(session.folder(run)) for run in (*before.runs, after)))


class _Texts:
    """Files as the user sees them now, each read once."""

    def __init__(self, session: Session, given: Mapping[str, str] | None = None) -> None:
        self._session = session
        self._given = {same_file_key(path): text for path, text in (given or {}).items()}
        self._known: dict[tuple[str, Path], Places] = {}

    def find(self, function: Place) -> tuple[Definition, str] | None:
        """A function's definition, if that is certain, and its line."""
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
    """One, or none where its place is not certain."""
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
