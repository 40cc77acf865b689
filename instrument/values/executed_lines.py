"""Which lines of the followed files ran, in all threads, while a test ran: far cheaper than a value trace."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

Trace = Callable[[FrameType, str, Any], Any]


class ExecutedLines:
    """Collects lines between `start` and `stop`. `is_followed` tells from a file whether its functions count."""

    def __init__(self, is_followed: Callable[[str], bool]) -> None:
        self._is_followed = is_followed
        self._all: dict[CodeType, frozenset[int]] = {}
        """The lines of each code; none for a code that is not followed."""
        self._left: dict[CodeType, set[int]] = {}
        """The lines of each code that ran which did not run yet."""

    def start(self) -> None:
        """Begin, or go on after `pause`, in the calling thread and in threads that begin from now on."""
        threading.settrace(self._enter)
        sys.settrace(self._enter)

    def pause(self) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def stop(self) -> dict[str, dict[str, list[int]]]:
        """Return the lines that ran, by file and qualified name of the function, and forget them."""
        self.pause()
        found: dict[str, dict[str, set[int]]] = {}
        for code, left in self._left.items():
            functions = found.setdefault(code.co_filename, {})
            functions.setdefault(code.co_qualname, set()).update(self._all[code] - left)
        self._left = {}
        return {file: {name: sorted(lines) for name, lines in functions.items()} for file, functions in found.items()}

    def _enter(self, frame: FrameType, event: str, argument: Any) -> Trace | None:
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            lines = self._all.get(code)
            if lines is None:
                lines = self._all[code] = self._lines(code)
            if not lines:
                return None
            left = self._left[code] = set(lines)
            # No event tells of the line of the definition.
            left.discard(code.co_firstlineno)
        left.discard(frame.f_lineno)
        return self._line if left else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Trace | None:
        left = self._left.get(frame.f_code)
        if left is None:
            return None
        left.discard(frame.f_lineno)
        return self._line if left else None

    def _lines(self, code: CodeType) -> frozenset[int]:
        if not self._is_followed(code.co_filename):
            return frozenset()
        return frozenset(line for _, _, line in code.co_lines() if line)
