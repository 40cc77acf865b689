"""The specs of a workspace: the index of its source, the last check of each spec, and all names.

Invariant: one thread at a time reads or changes the index; an answer about a text is cached until the text or the
source changes.
"""

from __future__ import annotations

import functools
import gc
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from clew.server.locations.paths import same_file_key

if TYPE_CHECKING:
    from clew.esl import Checked, SourceIndex
    from clew.esl.assist.completion import Completions
    from clew.esl.assist.references import Occurrence
    from clew.esl.index.declarations import ClassInfo, FunctionInfo
    from clew.esl.index.files import SourceFile
    from clew.query.api import Run
    from clew.records.plan.plan import Rule
    from clew.server.functions.rule_statistics import RuleStatistics
    from clew.server.session.session import Session, Task

T = TypeVar("T")
MAX_CACHED = 16
"""Maximum number of specs whose last check is cached."""
FRESH_SECONDS = 2.0
"""Seconds for which the files count as unchanged since the last check, unless the editor reports a change."""
LISTED_SECONDS = 2.0
"""Seconds for which a list of the workspace's specs is valid."""

KEYSTROKE_SECONDS = 0.004
"""Processor seconds for suggestions for misspelt patterns while the user types."""
IDLE_SECONDS = 0.1
"""Processor seconds for the same when the user does not type; other requests wait for the index that long."""
LISTING_SECONDS = 0.02
"""Processor seconds for reading files whose names are completed."""
BUSY_SECONDS = 0.02
"""Seconds for which a completion waits for the index; after that it offers only entries that need no index."""
PART = 200
"""Number of files that are read at once while other requests wait for the index."""
READ_IN_WORKERS = 1_000
"""Number of files that worker processes read at once while no request waits."""
MANY = 500
"""Number of read files and checked rules from which on `_settle` freezes them."""


class Specs:
    def __init__(self, session: Callable[[], Session], opened: Callable[[], list[str]]) -> None:
        self._session = session
        self._opened = opened
        """Returns the paths of the specs that are open in the editor, whether or not they are on the disk."""
        self._index: SourceIndex | None = None
        self._lock = threading.Lock()
        self._preparing = threading.Lock()
        self._checked: OrderedDict[str, Checked] = OrderedDict()
        self._rule_statistics: tuple[Run, RuleStatistics] | None = None
        self._listed: list[Path] = []
        self._listed_until = 0.0
        self._fresh_until = 0.0
        self._settled = 0

    @property
    def workspace(self) -> Path:
        return self._session().workspace

    def check(self, path: str, text: str, time_limit: float = KEYSTROKE_SECONDS) -> Checked:
        """Check a spec against the current source. A spec outside the workspace is not compared with any source."""
        from clew import esl

        inside = self._inside(path)
        with self._lock:
            if inside:
                index = self._index_now()
                # Other changes are found by `refreshed`, after the user has the answer.
                stale = not self._fresh_until
                checked = esl.check(path, self.workspace, text=text, index=index, refresh=stale, time_limit=time_limit)
                if stale:
                    self._fresh_until = time.monotonic() + FRESH_SECONDS
            else:
                checked = esl.Checked(**vars(esl.compile_text(text, path)))
            self._checked[path] = checked
            self._checked.move_to_end(path)
            while len(self._checked) > MAX_CACHED:
                self._checked.popitem(last=False)
            if self._index is not None:
                self._settle(self._index)
            return checked

    def checked(self, path: str, text: str) -> Checked:
        """Return the last check if it was of this text, else check the text."""
        with self._lock:
            known = self._checked.get(path)
        return known if known is not None and known.text == text else self.check(path, text)

    def with_index(self, question: Callable[[SourceIndex], T]) -> T:
        """Return the answer of `question` for the index, which no other thread uses meanwhile."""
        with self._lock:
            return question(self._index_now())

    def complete(self, path: str, text: str, offset: int, time_limit: float = LISTING_SECONDS) -> Completions:
        """Complete at an offset. Entries that would take too long are `postponed`; `prepare` finds them."""
        from clew.esl.assist.completion import complete

        known = self._checked.get(path)
        # A text that is being edited has the names of its last check; the word at the cursor is not a name yet.
        names = [each for _, _, found in self.names(path, known.text if known else text) for each in found]
        if not self._inside(path):
            return complete(text, offset, None, names)
        if not self._lock.acquire(timeout=BUSY_SECONDS):
            return replace(complete(text, offset, None, names), whole=False, postponed=True)
        try:
            return complete(text, offset, self._index_now(), names, time_limit)
        finally:
            self._lock.release()

    def prepare(self, task: Task) -> None:
        """Read the files that a completion had no time for. Other requests can use the index meanwhile."""
        from clew.esl.index.index import job_of
        from clew.esl.index.parallel_read import read_files

        with self._preparing:
            with self._lock:
                index = self._index_now()
                unread = index.unread(index.files) if index.awaited else []
            left: list[SourceFile] = []
            for part in _parts(unread, PART):
                task.check()
                with self._lock:
                    left += index.read_cached(part)
            for part in _parts(left, READ_IN_WORKERS):
                task.check()
                read = list(read_files([job_of(file) for file in part]))
                with self._lock:
                    index.take(part, read)
            index.awaited = False

    def names(self, path: str = "", text: str = "") -> Iterator[tuple[str, str, tuple[Occurrence, ...]]]:
        """Yield path, text and names of each spec of the workspace, with the editor's text; the spec at `path` comes
        first."""
        if path:
            yield path, text, names_in(text, same_file_key(path))
        seen = {same_file_key(path)} if path else set()
        for other in (*self._opened(), *map(str, self.specs())):
            if same_file_key(other) not in seen:
                seen.add(same_file_key(other))
                content = self._session().text(other)
                if content is not None:
                    yield other, content, names_in(content, same_file_key(other))

    def names_of_pack(self, path: str) -> Iterator[tuple[str, str, tuple[Occurrence, ...]]]:
        """Yield path, text and names of a pack, a spec that is shipped with clew; nothing if it cannot be read."""
        text = self._session().text(path)
        if text is not None:
            yield path, text, names_in(text, same_file_key(path))

    def functions_of(self, rule: Rule) -> tuple[FunctionInfo, ...]:
        from clew.esl.index.match import functions_of

        return self.with_index(lambda index: functions_of(rule, index))

    def source(self, path: str, text: str) -> tuple[tuple[FunctionInfo, ...], tuple[ClassInfo, ...]]:
        """Return the functions and classes of a Python file of the workspace, with the editor's text."""

        def read(index: SourceIndex) -> tuple[tuple[FunctionInfo, ...], tuple[ClassInfo, ...]]:
            index.overlay(path, text)
            file = next((file for file in index.files if file.path == path), None)
            return (index.functions(file), index.classes(file)) if file is not None else ((), ())

        return self.with_index(read)

    def overlay(self, path: str, text: str | None) -> None:
        """Use the editor's text of a Python file from now on; None for the text on the disk."""
        if self._index is not None and path:
            self.with_index(lambda index: index.overlay(path, text))

    def rule_statistics(self, task: Task) -> RuleStatistics | None:
        """Return the rule statistics of the selected run; None without a run."""
        from clew.server.functions.rule_statistics import RuleStatistics

        session = self._session()
        if not session.has_runs():
            return None
        run = session.open("", task)
        if self._rule_statistics is None or self._rule_statistics[0] is not run:
            self._rule_statistics = run, RuleStatistics(run)
        return self._rule_statistics[1]

    def specs(self) -> list[Path]:
        """Return the specs of the workspace, at most `LISTED_SECONDS` old."""
        from clew.esl.index.files import project_files

        now = time.monotonic()
        if now > self._listed_until:
            self._listed = project_files(self.workspace, ".esl")[0]
            self._listed_until = now + LISTED_SECONDS
        return self._listed

    def forget_files(self) -> None:
        """Invalidate the file lists, because files may have been created, changed or removed."""
        self._listed_until = self._fresh_until = 0.0

    def refreshed(self) -> bool:
        """Check the files again unless that was done recently; return whether any has changed."""
        with self._lock:
            if self._index is None or time.monotonic() <= self._fresh_until:
                return False
            before = self._index.files
            self._index.refresh()
            self._fresh_until = time.monotonic() + FRESH_SECONDS
            return self._index.files != before

    def _index_now(self) -> SourceIndex:
        from clew import esl

        if self._index is None or self._index.root != self.workspace.resolve():
            self._index = esl.SourceIndex(self.workspace)
            self._settled = 0
        return self._index

    def _settle(self, index: SourceIndex) -> None:
        """Exclude the index of thousands of files, and the checks of specs with as many rules, from garbage collection:
        each collection of them takes 0.2 s. To limit the cost of freezing itself, this runs only after substantial
        growth."""
        many = index.unpacked + sum(len(checked.matches) for checked in self._checked.values())
        if many - self._settled >= max(MANY, self._settled // 4):
            self._settled = many
            gc.unfreeze()
            gc.collect()
            gc.freeze()

    def _inside(self, path: str) -> bool:
        return Path(same_file_key(path)).is_relative_to(same_file_key(str(self.workspace)))


def _parts(files: list[SourceFile], many: int) -> Iterator[list[SourceFile]]:
    return (files[start : start + many] for start in range(0, len(files), many))


@functools.lru_cache(maxsize=64)
def names_in(text: str, file: str) -> tuple[Occurrence, ...]:
    from clew.esl.assist.references import names_of
    from clew.esl.syntax.parser import parse

    return tuple(names_of(parse(text).tree, file))
