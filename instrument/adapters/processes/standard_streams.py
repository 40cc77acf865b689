"""Standard streams of child programs: the child continues the byte counts of the pipes that its parent created for it.

The state of each pipe travels with the child's cause. The child adopts an end if its descriptor is exactly the parent's
pipe; records of both processes state this. Invariant: if another program may have used the pipes before (a shell that
starts the child), or C code may use them, an edge requires proof that the bytes counted on one side are all the bytes that
the other side received (`graph/build/byte_stream_edges.py`).
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import sys
from collections.abc import Sequence, Set

from clew.instrument.recorder.core import core
from clew.instrument.recorder.lifecycle import take_streams

_CERTAIN, _UNPROVEN = "=", "~"
"""The marks of an adopted stream: the edges are certain, or need proof by the end of the stream."""


def hand_over(descriptors: Sequence[int], direct: bool) -> str:
    """Hand the standard streams over to the child that the calling thread starts next, and return their state.

    `direct`: the child is a recorded Python program from its first instruction on.
    """
    states: dict[int, str] = {}
    unique = tuple(dict.fromkeys(descriptor for descriptor in descriptors if descriptor >= 0))
    for descriptor, stream in zip(unique, core.hand_streams(unique), strict=True):
        if stream is not None:
            with contextlib.suppress(OSError):
                about = os.fstat(descriptor)
                states[descriptor] = ".".join(f"{number:x}" for number in (about.st_ino, about.st_dev, *stream))
    streams = [f"{place}.{states[descriptor]}" for place, descriptor in enumerate(descriptors) if descriptor in states]
    return "/".join((f"{os.getpid() if direct else 0:x}", *streams)) if streams else ""


def install() -> None:
    """Adopt the standard streams that the parent process handed over."""
    parent, *streams = take_streams().split("/")
    if not streams:
        return
    direct = int(parent, 16) == os.getppid() and not (sys.flags.verbose or "importtime" in sys._xoptions)
    taken: set[int] = set()
    for text in streams:
        descriptor, inode, device, *stream = (int(number, 16) for number in text.split("."))
        with contextlib.suppress(OSError):
            about = os.fstat(descriptor)
            if (about.st_ino, about.st_dev) == (inode, device) and not (descriptor == 0 and _program_is_input()):
                core.adopt_stream(descriptor, _CERTAIN if direct else _UNPROVEN, *stream)
                taken.add(descriptor)
    if taken:
        atexit.register(core.to_the_end(_Flush(taken)))


def _program_is_input() -> bool:
    """Return whether the interpreter reads the program from standard input, which Python code does not see."""
    if sys.flags.inspect or sys.flags.interactive or os.environ.get("PYTHONINSPECT"):
        return True
    script = sys.argv[0] if sys.argv else ""
    if script in ("", "-"):
        return True
    with contextlib.suppress(OSError):
        return os.path.samestat(os.stat(script), os.fstat(0))
    return False


class _Flush:
    """The interpreter's flush of stdout and stderr at exit, done earlier so that it is recorded.

    After an interrupt it is left to the interpreter.
    """

    def __init__(self, descriptors: Set[int]) -> None:
        self.descriptors = descriptors
        self.begun = False

    def __call__(self) -> None:
        if self.begun:
            return
        self.begun = True
        for file in (sys.stdout, sys.stderr):
            if type(file) is io.TextIOWrapper and not file.closed:
                with contextlib.suppress(Exception):
                    self._flush(file)

    def _flush(self, file: io.TextIOWrapper) -> None:
        descriptor = file.fileno()
        if descriptor not in self.descriptors or not os.get_blocking(descriptor):
            return
        try:
            file.flush()
        except BrokenPipeError:
            # The unwritten data may be lost. Write a byte, so that the interpreter's own flush fails in the same way.
            file.buffer.write(b"\n")
