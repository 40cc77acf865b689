"""How long somebody who types waits for what takes a look at many files.

Invariant: what there was no time for is gone on with when one asks again, from where it stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence

from clew.esl.index import SourceIndex
from clew.esl.source_files import SourceFile

FEW = 20
"""Files that are read while somebody waits; for more somebody else has to (see `SourceIndex.awaited`)."""


class NotNow(Exception):
    """There is no time for a search."""


class Patience:
    """For all searches of one question: `seconds` of the processor."""

    def __init__(self, seconds: float = math.inf) -> None:
        self._is_bounded = seconds != math.inf
        self._until = time.thread_time() + seconds

    @property
    def is_over(self) -> bool:
        return self._is_bounded and time.thread_time() >= self._until

    def go_on(self) -> None:
        """For a search that can be gone on with another time. Raises `NotNow` when the time for all is over."""
        if self.is_over:
            raise NotNow

    def at_hand(self, index: SourceIndex, files: Sequence[SourceFile]) -> Sequence[SourceFile]:
        """Those of some files that can be looked at now: all, unless many have not been read."""
        if not self._is_bounded:
            index.read(files)
            return files
        unread = index.unread(files)
        if len(unread) <= FEW:
            return files
        index.awaited = True
        left_out = {file.path for file in unread}
        return [file for file in files if file.path not in left_out]

    def read(self, index: SourceIndex, files: Collection[SourceFile]) -> None:
        """Before files are looked at one by one, which reads them where there are few. Raises `NotNow`."""
        if not self._is_bounded:
            index.read(files)
        elif len(index.unread(files)) > FEW:
            index.awaited = True
            raise NotNow
