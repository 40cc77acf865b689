"""The lines of the logs that people look at: what an editor has open, else the file itself.

Invariant: a text is taken apart once for each of its versions, and a file once, apart from what is new in it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from clew.server import wording
from clew.server.files import same_file_key

if TYPE_CHECKING:
    from clew.graph.logs.lines import Lines, LogFile
    from clew.server.session import Task

KEPT = 8
"""Texts, and as many files."""


class LogTexts:
    """Thread-safe."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, tuple[int | None, Lines]] = OrderedDict()
        self._files: OrderedDict[str, LogFile] = OrderedDict()
        self._lock = threading.Lock()

    def of_text(self, name: str, version: int | None, text: str) -> Lines:
        """Of an open document of this name."""
        from clew.graph.logs.lines import Lines

        with self._lock:
            known = self._texts.get(name)
        if known is None or known[0] != version or version is None:
            known = (version, Lines.of_text(text))
        with self._lock:
            self._texts[name] = known
            self._texts.move_to_end(name)
            while len(self._texts) > KEPT:
                self._texts.popitem(last=False)
        return known[1]

    def of_file(self, path: str, task: Task) -> Lines:
        """Of a file as it is now. Raises OSError."""
        from clew.graph.logs.lines import LogFile

        with self._lock:
            file = self._files.setdefault(same_file_key(path), LogFile(path))
            self._files.move_to_end(same_file_key(path))
            while len(self._files) > KEPT:
                self._files.popitem(last=False)

        def told(done: int, size: int) -> None:
            task.phase(f"reading {file.path.name}: {100 * done // max(size, 1)} % of {wording.size(size)}")

        file.refresh(told)
        return file
