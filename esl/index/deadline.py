"""Limit the time of interactive searches over many files.

Invariant: a search that ran out of time continues from there on the next request.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence

from clew.esl.index.files import SourceFile
from clew.esl.index.index import SourceIndex

FEW = 20
"""Maximum number of unread files to read during a request; more are left to background readers (see
`SourceIndex.awaited`)."""


class NotNow(Exception):
    """A search has no time left."""


class Deadline:
    """The common limit for all searches of one request: `seconds` of processor time."""

    def __init__(self, seconds: float = math.inf) -> None:
        self._is_bounded = seconds != math.inf
        self._until = time.thread_time() + seconds

    @property
    def is_over(self) -> bool:
        return self._is_bounded and time.thread_time() >= self._until

    def check(self) -> None:
        """Check the limit inside a search that can be continued later. Raises `NotNow` when the time is over."""
        if self.is_over:
            raise NotNow

    def available(self, index: SourceIndex, files: Sequence[SourceFile]) -> Sequence[SourceFile]:
        """Return the files that can be used now: all of them, unless many are unread."""
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
        """Read files before they are used one by one, if only few are unread. Raises `NotNow`."""
        if not self._is_bounded:
            index.read(files)
        elif len(index.unread(files)) > FEW:
            index.awaited = True
            raise NotNow
