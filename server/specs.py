"""What the server knows of the workspace's specs: the index of its source, each spec as it was last checked, and all names.

Invariant: one thread at a time reads or changes the index; an answer about a text is kept until the text or the source changes.
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

from clew.server.files import same_file_key

if TYPE_CHECKING:
    from clew.esl import Checked, SourceIndex
    from clew.esl.completion import Completions
    from clew.esl.functions import ClassInfo, FunctionInfo
    from clew.esl.names import Occurrence
    from clew.esl.source_files import SourceFile
    from clew.graph.query import Run
    from clew.records.plan import Rule
    from clew.server.rule_figures import RuleFigures
    from clew.server.session import Session, Task

T = TypeVar("T")
KEPT = 16
"""Specs whose last check is kept."""
FRESH_SECONDS = 2.0
"""For how long the files are as they were when they were last looked at, unless the editor says otherwise."""
LISTED_SECONDS = 2.0
"""For how long a list of the workspace's specs is good enough."""

KEYSTROKE_SECONDS = 0.004
"""Of the processor, for what misspelt patterns may have meant, while somebody types."""
IDLE_SECONDS = 0.1
"""And at once, where nobody does; others wait for the index as long."""
LISTING_SECONDS = 0.02
"""Of the processor, for looking at files whose names are to be proposed."""
BUSY_SECONDS = 0.02
"""For how long who types waits for the index; then they are proposed what needs none."""
PART = 200
"""Files that are read at once, while others wait for the index."""
READ_BESIDE = 1_000
"""And by processes beside this one, while nobody does."""
MANY = 500
"""Files that were read and rules that were checked, from which on they are many."""


class Specs:
    def __init__(self, session: Callable[[], Session], opened: Callable[[], list[str]]) -> None:
        self._session = session
        self._opened = opened
        """The paths of the specs that are open in the editor, whether or not they are on the disk."""
        self._index: SourceIndex | None = None
        self._lock = threading.Lock()
        self._preparing = threading.Lock()
        self._checked: OrderedDict[str, Checked] = OrderedDict()
        self._figures: tuple[Run, RuleFigures] | None = None
        self._listed: list[Path] = []
        self._listed_until = 0.0
        self._fresh_until = 0.0
        self._settled = 0

    @property
    def workspace(self) -> Path:
        return self._session().workspace

    def check(self, path: str, text: str, patience: float = KEYSTROKE_SECONDS) -> Checked:
        """Against the source as it is now. A spec outside of the workspace is held against nothing."""
        from clew import esl

        inside = self._inside(path)
        with self._lock:
            if inside:
                index = self._index_now()
                # What has changed otherwise is found by `refreshed`, when the user has their answer.
                stale = not self._fresh_until
                checked = esl.check(path, self.workspace, text=text, index=index, refresh=stale, patience=patience)
                if stale:
                    self._fresh_until = time.monotonic() + FRESH_SECONDS
            else:
                checked = esl.Checked(**vars(esl.compile_text(text, path)))
            self._checked[path] = checked
            self._checked.move_to_end(path)
            while len(self._checked) > KEPT:
                self._checked.popitem(last=False)
            if self._index is not None:
                self._settle(self._index)
            return checked

    def checked(self, path: str, text: str) -> Checked:
        """As it was checked last, if that was this text."""
        with self._lock:
            known = self._checked.get(path)
        return known if known is not None and known.text == text else self.check(path, text)

    def with_index(self, question: Callable[[SourceIndex], T]) -> T:
        """What the index answers; nobody else asks it meanwhile."""
        with self._lock:
            return question(self._index_now())

    def complete(self, path: str, text: str, offset: int, patience: float = LISTING_SECONDS) -> Completions:
        """What there was no time for is `postponed`: `prepare` finds it."""
        from clew.esl.completion import complete

        known = self._checked.get(path)
        # A text that is being typed in has the names that it had at its last check, and the one at the cursor is none.
        names = [each for _, _, found in self.names(path, known.text if known else text) for each in found]
        if not self._inside(path):
            return complete(text, offset, None, names)
        if not self._lock.acquire(timeout=BUSY_SECONDS):
            return replace(complete(text, offset, None, names), whole=False, postponed=True)
        try:
            return complete(text, offset, self._index_now(), names, patience)
        finally:
            self._lock.release()

    def prepare(self, task: Task) -> None:
        """Reads the files that somebody had no time to wait for. Others ask the index meanwhile."""
        from clew.esl.index import job_of
        from clew.esl.reading import read_files

        with self._preparing:
            with self._lock:
                index = self._index_now()
                unread = index.unread(index.files) if index.awaited else []
            left: list[SourceFile] = []
            for part in _parts(unread, PART):
                task.check()
                with self._lock:
                    left += index.read_kept(part)
            for part in _parts(left, READ_BESIDE):
                task.check()
                read = list(read_files([job_of(file) for file in part]))
                with self._lock:
                    index.take(part, read)
            index.awaited = False

    def names(self, path: str = "", text: str = "") -> Iterator[tuple[str, str, tuple[Occurrence, ...]]]:
        """Path, text and names of each spec of the workspace, as the editor has it; the one at `path` first."""
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
        """As `names` has it of a spec, of the file of one that is shipped with clew; nothing where there is none."""
        text = self._session().text(path)
        if text is not None:
            yield path, text, names_in(text, same_file_key(path))

    def functions_of(self, rule: Rule) -> tuple[FunctionInfo, ...]:
        from clew.esl.matcher import functions_of

        return self.with_index(lambda index: functions_of(rule, index))

    def source(self, path: str, text: str) -> tuple[tuple[FunctionInfo, ...], tuple[ClassInfo, ...]]:
        """The functions and classes of a Python file of the workspace, of the text that the editor has of it."""

        def read(index: SourceIndex) -> tuple[tuple[FunctionInfo, ...], tuple[ClassInfo, ...]]:
            index.overlay(path, text)
            file = next((file for file in index.files if file.path == path), None)
            return (index.functions(file), index.classes(file)) if file is not None else ((), ())

        return self.with_index(read)

    def overlay(self, path: str, text: str | None) -> None:
        """From here on a Python file is what the editor has of it; None: what is on the disk."""
        if self._index is not None and path:
            self.with_index(lambda index: index.overlay(path, text))

    def figures(self, task: Task) -> RuleFigures | None:
        """What rules gave in the run that is looked at, None without one."""
        from clew.server.rule_figures import RuleFigures

        session = self._session()
        if not session.has_runs():
            return None
        run = session.open("", task)
        if self._figures is None or self._figures[0] is not run:
            self._figures = run, RuleFigures(run)
        return self._figures[1]

    def specs(self) -> list[Path]:
        """The specs of the workspace, as they were when it was last looked at."""
        from clew.esl.source_files import project_files

        now = time.monotonic()
        if now > self._listed_until:
            self._listed = project_files(self.workspace, ".esl")[0]
            self._listed_until = now + LISTED_SECONDS
        return self._listed

    def forget_files(self) -> None:
        """Files may have been made, changed or removed."""
        self._listed_until = self._fresh_until = 0.0

    def refreshed(self) -> bool:
        """Looks at the files again where that was not done lately; has any changed?"""
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
        """What was read of thousands of files and is known of specs with as many rules stays: the collector of garbage need not
        look through it again and again, which takes 0.2 s each time; nor here at each step by which they become more."""
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
    from clew.esl.names import names_of
    from clew.esl.parser import parse

    return tuple(names_of(parse(text).tree, file))
