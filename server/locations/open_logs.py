"""The lines of the logs that users view: the text of an open editor, else the file.

Invariant: each version of a text is parsed once, and a file is parsed once, except for its additions.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from clew.server.locations.paths import same_file_key
from clew.server.text import units

if TYPE_CHECKING:
    from clew.graph.logs.lines import Lines, LogFile
    from clew.server.session.session import Task

MAX_CACHED = 8
"""Maximum number of cached texts, and of cached files."""


class LogTexts:
    """A thread-safe cache."""

    def __init__(self) -> None:
        self._texts: OrderedDict[str, tuple[int | None, Lines]] = OrderedDict()
        self._files: OrderedDict[str, LogFile] = OrderedDict()
        self._lock = threading.Lock()

    def of_text(self, name: str, version: int | None, text: str) -> Lines:
        """Return the lines of an open document."""
        from clew.graph.logs.lines import Lines

        with self._lock:
            known = self._texts.get(name)
        if known is None or known[0] != version or version is None:
            known = (version, Lines.of_text(text))
        with self._lock:
            self._texts[name] = known
            self._texts.move_to_end(name)
            while len(self._texts) > MAX_CACHED:
                self._texts.popitem(last=False)
        return known[1]

    def of_file(self, path: str, task: Task) -> Lines:
        """Return the lines of a file as it is now. Raises OSError."""
        from clew.graph.logs.lines import LogFile

        with self._lock:
            file = self._files.setdefault(same_file_key(path), LogFile(path))
            self._files.move_to_end(same_file_key(path))
            while len(self._files) > MAX_CACHED:
                self._files.popitem(last=False)

        def progress(done: int, size: int) -> None:
            task.phase(f"reading {file.path.name}: {100 * done // max(size, 1)} % of {units.size(size)}")

        file.refresh(progress)
        return file
