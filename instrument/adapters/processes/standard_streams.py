"""Standard streams of a child that is a program of its own: it goes on with the pipes that its parent made for it.

Where each of them stands travels with the child's cause. The child takes an end over when its descriptor is the very pipe
that the parent gave; the records of both say so. Invariant: where the first program that runs with the pipes may not be
the one that takes them over (a shell comes first), or C code may use them, too, an edge needs the proof that the bytes
which the one side counted are all that the other one got (`graph/build/byte_stream_edges.py`).
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import sys
from collections.abc import Sequence, Set

from clew.instrument.recorder.core import core
from clew.instrument.recorder.lifecycle import given_streams

_KNOWN, _DOUBTED = "=", "~"
"""Takes over at once; only if the end of the stream proves it."""


def hand(descriptors: Sequence[int], direct: bool) -> str:
    """What the child that the calling thread starts next is told of its standard streams; they are its own from here on.

    `direct`: it is a Python program from its first instruction on, and recorded.
    """
    told: dict[int, str] = {}
    unique = tuple(dict.fromkeys(descriptor for descriptor in descriptors if descriptor >= 0))
    for descriptor, stream in zip(unique, core.hand_streams(unique), strict=True):
        if stream is not None:
            with contextlib.suppress(OSError):
                about = os.fstat(descriptor)
                told[descriptor] = ".".join(f"{number:x}" for number in (about.st_ino, about.st_dev, *stream))
    given = [f"{place}.{told[descriptor]}" for place, descriptor in enumerate(descriptors) if descriptor in told]
    return "/".join((f"{os.getpid() if direct else 0:x}", *given)) if given else ""


def install() -> None:
    """Takes over what this process was given."""
    starter, *given = given_streams().split("/")
    if not given:
        return
    direct = int(starter, 16) == os.getppid() and not (sys.flags.verbose or "importtime" in sys._xoptions)
    taken: set[int] = set()
    for text in given:
        descriptor, inode, device, *stream = (int(number, 16) for number in text.split("."))
        with contextlib.suppress(OSError):
            about = os.fstat(descriptor)
            if (about.st_ino, about.st_dev) == (inode, device) and not (descriptor == 0 and _program_is_input()):
                core.adopt_stream(descriptor, _KNOWN if direct else _DOUBTED, *stream)
                taken.add(descriptor)
    if taken:
        atexit.register(core.to_the_end(_Flush(taken)))


def _program_is_input() -> bool:
    """Does the interpreter read the program itself from the standard input, which no Python code sees?"""
    if sys.flags.inspect or sys.flags.interactive or os.environ.get("PYTHONINSPECT"):
        return True
    script = sys.argv[0] if sys.argv else ""
    if script in ("", "-"):
        return True
    with contextlib.suppress(OSError):
        return os.path.samestat(os.stat(script), os.fstat(0))
    return False


class _Flush:
    """What the interpreter does next, done while it is recorded: at an interrupt it is left to the interpreter."""

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
            # What could not be written may be gone: with something else in its place the interpreter fails as this did.
            file.buffer.write(b"\n")
