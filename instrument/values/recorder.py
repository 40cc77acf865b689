"""Record a value trace of this process: from `start` to `stop`, in all threads."""

from __future__ import annotations

import collections
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

from clew.instrument.recorder.redaction import Redaction
from clew.instrument.values import _steps
from clew.instrument.values.code_tables import Tables, described
from clew.instrument.values.object_table import ObjectTable
from clew.instrument.values.short_forms import ShortForms, error_field
from clew.records.fast_namedtuple import NamedTuple
from clew.records.values.trace_files import write_tables
from clew.records.values.trace_format import EVENTS, Code, Outcome, ValueTrace

OTHER_TRACER = 4


class Limits(NamedTuple):
    opcodes: int = 20_000_000
    bytes: int = 1_000_000_000
    seconds: float = 120.0


class Recorder:
    """One recording. `is_followed` tells from a file whether its functions are followed."""

    def __init__(self, folder: Path, is_followed: Callable[[str], bool], redaction: Redaction, limits: Limits) -> None:
        """Create the files of the trace. Raises `OSError`."""
        self._folder, self._is_followed, self._limits = folder, is_followed, limits
        self._forms = ShortForms(redaction)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._fd = os.open(folder / EVENTS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self._codes: list[Code] = []
        self._numbers: dict[CodeType, int] = {}
        self._modules: dict[str, str] = {}
        self._threads: list[str] = []
        self._thread_numbers: dict[int, int] = {}
        self._begun = 0.0
        self._is_open = False
        self._was_replaced = False

    def start(self) -> None:
        """Begin, or go on after `pause`, in the calling thread and in threads that begin from now on."""
        if not self._is_open:
            self._is_open = True
            self._begun = time.monotonic()
            # CPython 3.12 sends opcode events only if a frame asked for them before tracing begins.
            sys._getframe().f_trace_opcodes = True
            limits = self._limits
            _steps.begin(self._fd, self._describe, collections.deque, limits.opcodes, limits.bytes, limits.seconds)
        threading.settrace(self._follow_thread)
        self._follow()

    def pause(self) -> None:
        """Stop following the calling thread."""
        threading.settrace(None)
        if not _steps.unfollow():
            self._was_replaced = True

    def stop(self, error: BaseException | None) -> None:
        """End the recording and write its tables. `error` is what ended the test. Raises `OSError`."""
        if not self._is_open:
            return
        self._is_open = False
        opcodes, cut = _steps.flush()
        exception = _steps.number(error) if error is not None else -1
        table = ObjectTable(self._forms, lambda code: self._numbers.get(code, -1))
        table.build()
        if not cut and self._was_replaced:
            cut = OTHER_TRACER
        trace = ValueTrace(
            memoryview(b""), self._codes, table.rows, table.keys, table.ends, self._threads,
            self._outcome(error, exception), opcodes, cut, time.monotonic() - self._begun, tuple(sys.version_info[:3]),
        )  # fmt: skip
        _steps.end()
        os.close(self._fd)
        write_tables(self._folder, trace)

    def _outcome(self, error: BaseException | None, number: int) -> Outcome:
        if error is None:
            return Outcome(-1, "", "", ())
        frames = tuple(
            (frame.f_code.co_filename, line, frame.f_code.co_qualname)
            for frame, line in traceback.walk_tb(error_field(error, "__traceback__"))
        )
        return Outcome(number, type(error).__qualname__, self._forms.exception(error), frames)

    def _follow(self) -> None:
        thread = threading.current_thread()
        number = self._thread_numbers.setdefault(threading.get_ident(), len(self._threads))
        if number == len(self._threads):
            self._threads.append(thread.name)
        elif self._threads[number] != thread.name:
            # The system gave the identity of a thread that ended to a new one.
            number = self._thread_numbers[threading.get_ident()] = len(self._threads)
            self._threads.append(thread.name)
        _steps.follow(number)

    def _follow_thread(self, frame: FrameType, event: str, argument: object) -> None:
        """The trace function of a new thread: it is called once, at the thread's first call."""
        self._follow()

    def _describe(self, code: CodeType) -> Tables | None:
        """Return the tables of a code, None if it is not followed. Called by the tracer once per code."""
        if not self._is_followed(code.co_filename):
            return None
        number = len(self._codes)
        found, tables = described(code, number, self._module(code.co_filename))
        self._codes.append(found)
        self._numbers[code] = number
        return tables

    def _module(self, file: str) -> str:
        name = self._modules.get(file)
        if name is None:
            for name, module in list(sys.modules.items()):
                found = getattr(module, "__dict__", {}).get("__file__")
                if type(found) is str:
                    self._modules.setdefault(found, name)
            name = self._modules.setdefault(file, Path(file).stem)
        return name
