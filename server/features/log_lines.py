"""Log files in the editor: which event wrote a line, and what led to it.

A file is a log file by its name, `.log`. The run of a line is the selected one or, when that one did not write it, one
that was recording at the line's time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from lsprotocol import types

from clew.server.positions import line_range

if TYPE_CHECKING:
    from clew.graph.query import Run

TROUBLE = re.compile(r"\b(?:ERROR|CRITICAL|FATAL|WARNING|WARN)\b")
MAX_LENSES = 500
"""In one file; the last ones, as a log's end is what people look at."""


class WrittenLine(NamedTuple):
    run: Run
    event: int


def is_log(path: str) -> bool:
    return path.endswith(".log")


def lenses(path: str, text: str) -> list[types.CodeLens]:
    """A lens without text on every line that tells of an error or a warning."""
    troubled = [(number, line) for number, line in enumerate(text.splitlines(), 1) if TROUBLE.search(line[:2000])]
    return [
        types.CodeLens(range=line_range(number), data={"path": path, "line": number, "text": line})
        for number, line in troubled[-MAX_LENSES:]
    ]
