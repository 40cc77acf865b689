"""The texts of a run's source files as they ran, also after the files changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from clew.records.run import source_snapshots


class ProgramTexts:
    """The texts of one run. `place` gives the present path of a file of a moved run."""

    NAME = "program texts"
    """The key among the graph's `answers`."""

    def __init__(self, folder: Path, started_ns: int, place: Callable[[str], str] | None) -> None:
        self._folder, self._started_ns, self._place = folder, started_ns, place

    @cached_property
    def _saved(self) -> dict[str, source_snapshots.Source]:
        known = source_snapshots.index(self._folder).items()
        return {self._place(path) if self._place else path: source for path, source in known}

    def of(self, path: str) -> str | None:
        """Return the text that ran; None if it is not certain what ran.

        Without a saved text, the file counts if it was not modified since the run began.
        """
        source = self._saved.get(path)
        if source is not None:
            return source_snapshots.text(self._folder, source) if source.certain else None
        try:
            if os.stat(path).st_mtime_ns >= self._started_ns:
                return None
            return Path(path).read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError):
            return None
