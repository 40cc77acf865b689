"""Start and end the recording of this process, and start a new file in every forked child.

A process records from `start` to `stop` or to its end. Modules that have definitions (sites, strands) register with
`at_start`.

Invariants: this module never raises into the program. A forked child's file begins with all definitions and with a JOIN
to a SEND that its parent emitted just before the fork. A process that exits normally emits a SEND for the process that
waits for it; `process_end` derives its key from the key that started the process.
"""

import atexit
import contextlib
import json
import os
import sys
import threading
from collections.abc import Callable

from clew.instrument.recorder import interned_strings, redaction
from clew.instrument.recorder.core import core, unavailable
from clew.instrument.recorder.stderr_notice import complain
from clew.records.errors import ClewError
from clew.records.fast_namedtuple import NamedTuple
from clew.records.format.event import Kind
from clew.records.format.header import INFO_MAX
from clew.records.format.keys import KeySource, process_end
from clew.records.plan.default_plan import PAUSES
from clew.records.plan.plan import Plan
from clew.records.run.directory import CAUSE_VARIABLE, REFUSED, TRACE_SUFFIX, boot_id, host_name

_MAX_ARGV = 1400
_MAX_ARGUMENT = 400
_MASK = 0xFFFF_FFFF_FFFF_FFFF


class Cause(NamedTuple):
    """The incoming edge that starts a process's recording."""

    key: int
    uid: int
    """The uid of the process that sent the key."""
    origin: int = 0
    """The key that started the process, if `key` belongs to a later exec of another program; otherwise 0."""
    streams: str = ""
    """The encoded state of the process's standard streams."""

    def __str__(self) -> str:
        """Return the text that is passed to the process, for `parse_cause`."""
        origin = f"-{self.origin:x}" if self.origin else ""
        return f"{self.key:x}-{self.uid:x}{origin}" + (f"/{self.streams}" if self.streams else "")


class _Fork(threading.local):
    """The calling thread's state of the child that it is about to fork or forked last."""

    cause: Cause | None = None
    """The child's cause; None if the child is not recorded."""
    will_exec = False
    """Whether the child immediately runs another program, so that a trace file would be empty."""


_run: str | None = None
_plan = Plan()
_definers: list[Callable[[], None]] = []
_enders: list[Callable[[], None]] = []
_keys = KeySource()
_fork = _Fork()
_children_deferred = False
"""Whether children that are forked from now on begin to record only when they get their cause."""
_started_by = 0
"""The key that started this process; 0 if no recorded process started it."""
_streams = ""
"""The state of the standard streams that this process got from its parent."""
_hooked = False


def start(run: str | os.PathLike[str], plan: Plan) -> bool:
    """Record this process into a new file of the run's folder. On failure, print one line on stderr and return False.

    The main thread's first record is a JOIN with the key in `CLEW_CAUSE`: the edge from the process that started this one.
    """
    try:
        begin(run, plan)
    except Exception as error:
        _not_recorded(error)
        return False
    return True


def begin(run: str | os.PathLike[str], plan: Plan) -> None:
    """Record this process like `start`, but raise an exception on failure."""
    global _run, _plan
    if unavailable:
        raise ClewError(unavailable)
    if not core.active():
        _run, _plan = os.fspath(run), plan
        redaction.use(plan.redact)
        _begin(_cause_from_environment())
        _hook()


def use_plan(plan: Plan) -> None:
    """Replace the plan, also for children that are forked from now on."""
    global _plan
    _plan = plan
    redaction.use(plan.redact)


def stop() -> None:
    """End this process's recording. Idempotent."""
    global _run
    _run = None
    with contextlib.suppress(Exception):
        _run_enders()
        core.stop()


def _end() -> None:
    if _started_by and core.active():
        core.emit(Kind.SEND, 0, process_end(_started_by), interned_strings.intern("process.end"))
    _run_enders()
    core.stop()


def _run_enders() -> None:
    if core.active():
        for callback in _enders:
            callback()
    _note_sample_counts()


def at_end(callback: Callable[[], None]) -> None:
    """Call `callback`, which must not raise, at the end of the recording, while it still accepts records."""
    _enders.append(callback)


end = core.to_the_end(_end)
"""End the recording at the end of the process, with the SEND for the waiting process. A Ctrl-C meanwhile reaches the
program afterwards."""


def _begin_sample() -> None:
    """Sample as the plan requests, and note it at the start, because a killed process writes no note at its end."""
    share = 1.0 if _plan.sample is None else _plan.sample
    core.sample(share)
    if share < 1:
        text = f"request flows are sampled: {share * 100:.3g} % of them are recorded, each entirely or not at all"
        core.define(Kind.NOTE, 0, text.encode())


def _note_sample_counts() -> None:
    recorded, dropped = core.flows()
    if core.active() and recorded + dropped:
        text = f"{recorded} of {recorded + dropped} request flows that began in process {os.getpid()} are recorded"
        core.define(Kind.NOTE, 0, text.encode())


def run_folder() -> str | None:
    """Return the folder of this process's run, or None."""
    return _run


def cause_by(key: int) -> Cause:
    """Return the cause for a child process to which this process sends `key`."""
    return Cause(key, core.uid())


def parse_cause(text: str) -> Cause | None:
    """Parse the text of a `Cause`; return None if it is invalid."""
    text, _, streams = text.partition("/")
    try:
        numbers = [int(number, 16) & _MASK for number in text.split("-")]
        key, uid, origin = numbers if len(numbers) != 2 else (*numbers, 0)
        return Cause(key, uid, origin, streams)
    except (ValueError, TypeError):
        return None


def cause_after_exec(cause: Cause) -> Cause:
    """Return `cause` for the program that replaces this process's program, with the key that started the process."""
    return cause._replace(origin=_started_by)


def pause() -> None:
    """End this process's file, until `begin_again`."""
    core.stop()


def begin_again(cause: Cause | None) -> None:
    """Record this process into a new file, after a failed exec or when a deferred child gets its cause."""
    global _children_deferred
    _children_deferred = False
    if not core.active():
        _try_to_begin(cause)


def defer_children() -> None:
    """Make children that are forked from now on wait with recording until `begin_again` is called in them."""
    global _children_deferred
    _children_deferred = True


def children_deferred() -> bool:
    return _children_deferred


def forked_child_key() -> int:
    """Return the key of the SEND to the child that the calling thread forked last, or 0."""
    return _fork.cause.key if _fork.cause else 0


def will_exec(expected: bool) -> None:
    """Set whether a child that the calling thread forks now will immediately run another program."""
    _fork.will_exec = expected


def at_start(define_all: Callable[[], None]) -> None:
    """Call `define_all` now if this process is recording, and after each later start, also in forked children."""
    _definers.append(define_all)
    if core.active():
        _define(define_all)


def name_thread() -> None:
    """Define the calling thread by its current name; the recorder knows only the name that it was created with."""
    ident = threading.get_ident()
    for thread in threading.enumerate():  # current_thread() would add a dummy for a thread that Python did not start
        if thread.ident == ident:
            text = {"name": thread.name, "native_id": threading.get_native_id(), "daemon": thread.daemon}
            core.define(Kind.THREAD, core.thread(), json.dumps(text).encode())
            return


def _cause_from_environment() -> Cause | None:
    """Remove `CLEW_CAUSE` from the environment, so that a grandchild does not claim it, and parse it."""
    return parse_cause(os.environ.pop(CAUSE_VARIABLE, ""))


def take_streams() -> str:
    """Return the state of the standard streams that the parent process passed; the second call returns ""."""
    global _streams
    streams, _streams = _streams, ""
    return streams


def _begin(cause: Cause | None) -> None:
    """Open a file in the run's folder. Raise an exception on failure."""
    global _started_by, _streams
    _streams = cause.streams if cause else ""
    _started_by = (cause.origin or cause.key) if cause else 0
    if _run is None:
        return
    path = os.path.join(_run, f"{os.getpid()}-{core.uid():016x}{TRACE_SUFFIX}")
    core.start(path, _info(), cause.uid if cause else 0, _plan.quota, _plan.budget or 0.0, _plan.keep == "newest")
    _begin_sample()
    for define_all in (interned_strings.define_all, *_definers):
        _define(define_all)
    name_thread()
    if cause:
        core.emit(Kind.JOIN, 0, cause.key, interned_strings.intern("process.start"))


def _try_to_begin(cause: Cause | None) -> None:
    try:
        _begin(cause)
    except Exception as error:
        _not_recorded(error)


def _not_recorded(error: Exception) -> None:
    complain(f"process {os.getpid()} is not recorded: {error}")
    with contextlib.suppress(OSError):
        if _run is not None:
            os.close(os.open(os.path.join(_run, f"{REFUSED}{os.getpid()}"), os.O_WRONLY | os.O_CREAT, 0o600))


def _define(define_all: Callable[[], None]) -> None:
    try:
        define_all()
    except Exception as error:
        core.define(Kind.NOTE, 0, f"some definitions are missing: {error}".encode())


def _info() -> bytes:
    """Return the file header's description of the process, as JSON that fits its page."""
    fields = {
        "host": host_name(),
        "boot_id": boot_id(),
        "executable": sys.executable or "",
        "argv": _short_argv(),
        "cwd": _cwd(),
        "python": sys.version.split()[0],
        "recorder": "c",
        "pauses": core.pause_source() if PAUSES in _plan.adapters else "",
    }
    for name in ("argv", "cwd", "executable", "host"):
        text = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")
        if len(text) <= INFO_MAX:
            return text
        del fields[name]  # it is extremely long
    return b"{}"


def _short_argv() -> list[str]:
    """Return the redacted command line, with long arguments truncated and only the first arguments that fit."""
    argv: list[str] = []
    bytes_left = _MAX_ARGV
    for argument in redaction.current().arguments(sys.orig_argv):
        text = argument if len(argument) <= _MAX_ARGUMENT else argument[:_MAX_ARGUMENT] + "…"
        bytes_left -= len(text.encode("utf-8", "replace")) + 4
        if bytes_left < 0:
            return [*argv, "…"]
        argv.append(text)
    return argv


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _hook() -> None:
    global _hooked
    if _hooked:
        return
    _hooked = True
    atexit.register(end)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)


def _before_fork() -> None:
    _fork.cause = None
    with contextlib.suppress(Exception):
        if core.active() and not _fork.will_exec and not _children_deferred:
            key = core.flow_key(_keys.fresh())
            core.emit(Kind.SEND, 0, key, interned_strings.intern("process.start"))
            _fork.cause = cause_by(key)


def _after_fork_in_child() -> None:
    cause, _fork.cause = _fork.cause, None
    if cause is not None:
        _try_to_begin(cause)
