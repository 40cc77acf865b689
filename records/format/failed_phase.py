"""Define the text of a failed test's payload: the exceptions of the phase that failed, with their frames.

Invariants: a text fits one record, because the exceptions farthest from the failure are left out first. A reader accepts any
text, and returns None for one that it cannot read.
"""

from __future__ import annotations

import json
from typing import Any

from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.event import MAX_TEXT

FAILURE = "failure"
"""The name of the payload at the test's call."""
MOST_INNER, MOST_OUTER = 24, 8
"""The most frames kept of one exception, at its inner and at its outer end."""
MOST_EXCEPTIONS = 8
MESSAGE_LENGTH = 600


class Frame(NamedTuple):
    """A frame of a traceback."""

    file: str
    line: int
    function: str
    """The qualified name."""
    first_line: int
    """The line of the function's `def` or first decorator."""


class Raised(NamedTuple):
    """One exception of a failure."""

    type: str
    """With its module, unless it is a builtin."""
    message: str
    link: str
    """How it belongs to the exceptions before it: "" for the failure itself, "cause", "context" or "member" (of a group)."""
    frames: tuple[Frame, ...]
    """Innermost first; those in the middle of a long traceback are left out."""


class FailedPhase(NamedTuple):
    """How a phase of a test failed."""

    phase: str
    """"setup", "call" or "teardown"."""
    raised: tuple[Raised, ...]
    """The failure itself first, then what is behind it, the nearest first."""
    omitted: int = 0
    """The number of exceptions that were left out."""


def dump(failed: FailedPhase) -> str:
    """Return the text, at most `MAX_TEXT` bytes of UTF-8."""
    raised = list(failed.raised[:MOST_EXCEPTIONS])
    while True:
        text = _text(failed, raised)
        if len(text.encode("utf-8", "replace")) <= MAX_TEXT or not raised:
            return text
        if len(raised) > 1:
            raised.pop()
            continue
        last = raised[0]
        if len(last.frames) > 1:
            half = max(1, len(last.frames) // 2)
            raised[0] = last._replace(
                frames=(*last.frames[: half - half // 4], *last.frames[len(last.frames) - half // 4 :])
            )
        elif last.message:
            raised[0] = last._replace(message="")
        else:
            raised.clear()


def _text(failed: FailedPhase, raised: list[Raised]) -> str:
    files = {frame.file: None for each in raised for frame in each.frames}
    number = {file: place for place, file in enumerate(files)}
    return json.dumps(
        {
            "phase": failed.phase,
            "files": list(files),
            "raised": [
                [each.type, each.message, each.link, [[number[frame.file], *frame[1:]] for frame in each.frames]]
                for each in raised
            ],
            "omitted": failed.omitted + len(failed.raised) - len(raised),
        },
        ensure_ascii=False,
        separators=(",", ":"),
    )


def load(text: str) -> FailedPhase | None:
    """Return the failure that a text describes, None if it is damaged."""
    try:
        data: Any = json.loads(text)
        files = data["files"]
        return FailedPhase(
            str(data["phase"]),
            tuple(
                Raised(
                    str(kind),
                    str(message),
                    str(link),
                    tuple(
                        Frame(str(files[file]), int(line), str(name), int(first)) for file, line, name, first in frames
                    ),
                )
                for kind, message, link, frames in data["raised"]
            ),
            int(data["omitted"]),
        )
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return None
