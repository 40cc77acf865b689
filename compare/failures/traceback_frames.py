"""Find the functions of the program in the traceback of a failed test, and those in the exceptions behind it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clew.compare.failures.recorded_tests import Function, RecordedTests
from clew.graph.render.library import library_place
from clew.records.format.failed_phase import FailedPhase, Frame, Raised

_INNER = re.compile(r"(\.<locals>)?\.<(listcomp|dictcomp|setcomp|genexpr)>$")
"""Code that Python runs in a frame of its own, but that belongs to the function around it."""


@dataclass(frozen=True)
class Traced:
    """A function of the program in a traceback."""

    function: Function
    line: int
    """The line that ran, of the innermost of its frames."""
    evidence: str


def traced(tests: RecordedTests, failed: FailedPhase) -> list[Traced]:
    """Return the functions of the program in the tracebacks of a failure, the likeliest first.

    Those of the failure itself come first, each traceback from the inside out. What a group's members or the causes have in
    addition follows.
    """
    known = {(function.file, function.qualname): function for function in tests.functions}
    found: dict[tuple[str, str], Traced] = {}
    for raised in failed.raised:
        for place, frame in enumerate(raised.frames):
            if not tests.is_program(frame.file):
                continue
            name = plain(frame.function)
            function = known.get((frame.file, name)) or Function(frame.file, name, frame.first_line, "")
            if function.qualname != "<module>":
                found.setdefault(function[:2], Traced(function, frame.line, _evidence(raised, place)))
    return list(found.values())


def plain(qualname: str) -> str:
    """Return the name of the function around a comprehension; any other name is unchanged."""
    while _INNER.search(qualname):
        qualname = _INNER.sub("", qualname)
    return qualname


def _evidence(raised: Raised, place: int) -> str:
    kind = raised.type.rpartition(".")[2]
    what = {"": kind, "cause": f"its cause {kind}", "context": f"{kind} before it", "member": f"{kind} of the group"}[
        raised.link if raised.link in ("cause", "context", "member") else ""
    ]
    if place == 0:
        return f"{what} raised here"
    inside = raised.frames[0]
    if all(library_place(each.file) for each in raised.frames[:place]):
        return f"{what} raised in {_shown(inside)}, called here"
    return f"{what} passed through"


def _shown(frame: Frame) -> str:
    return f"{plain(frame.function)} ({library_place(frame.file)}:{frame.line})"


def failing_line(tests: RecordedTests, failed: FailedPhase) -> Frame | None:
    """Return the innermost frame in a file of tests: the line of the assertion, or the call that failed. None without one."""
    frames = failed.raised[0].frames if failed.raised else ()
    return next((frame for frame in frames if frame.file in tests.test_files), None) or next(
        (frame for frame in frames if not library_place(frame.file)), None
    )
