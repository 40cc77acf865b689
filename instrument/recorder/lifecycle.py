"""When this process records: from `start` to `stop` or its end, and anew, in a file of its own, in every forked child.

Invariants: nothing here raises into the program; a forked child's file begins with all definitions and with a JOIN to a
SEND that its parent made just before the fork; a process that ends by itself leaves a SEND with the key that
`process_end` makes of the one that started it, for whoever waits for it. Whoever keeps definitions (sites, strands)
registers with `at_start`.
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
from clew.records.plan.plan import Plan
from clew.records.run.directory import CAUSE_VARIABLE, REFUSED, TRACE_SUFFIX, boot_id, host_name

_MAX_ARGV = 1400
_MAX_ARGUMENT = 400
_MASK = 0xFFFF_FFFF_FFFF_FFFF


class Cause(NamedTuple):
    """The use edge that starts a process's recording."""

    key: int
    uid: int
    """Of the process that sent the key."""
    origin: int = 0
    """The key that started the process, when it is not this one: it went on from another program."""
    streams: str = ""
    """What the process needs to know of its standard streams."""

    def __str__(self) -> str:
        """As it travels to the process, `parse_cause` reads it."""
        origin = f"-{self.origin:x}" if self.origin else ""
        return f"{self.key:x}-{self.uid:x}{origin}" + (f"/{self.streams}" if self.streams else "")


class _Fork(threading.local):
    """What the calling thread knows of the child that it is about to fork, or forked last."""

    cause: Cause | None = None
    """None when the child is not recorded."""
    will_exec = False
    """The child runs another program at once: a file of its own would tell of nothing."""


_run: str | None = None
_plan = Plan()
_definers: list[Callable[[], None]] = []
_enders: list[Callable[[], None]] = []
_keys = KeySource()
_fork = _Fork()
_children_wait = False
"""Do children that are forked from here on begin to record only when they are told their cause?"""
_started_by = 0
"""The key that started this process, 0 when nobody who records did."""
_given_streams = ""
"""What this process was told of its standard streams."""
_hooked = False


def start(run: str | os.PathLike[str], plan: Plan) -> bool:
    """Records this process into a new file of the run's folder. False, after one line on stderr, when that can't be.

    The main thread's first record is a JOIN with what `CLEW_CAUSE` names, the edge from the process that started this one.
    """
    try:
        begin(run, plan)
    except Exception as error:
        _not_recorded(error)
        return False
    return True


def begin(run: str | os.PathLike[str], plan: Plan) -> None:
    """The same for who can be told. Raises what went wrong."""
    global _run, _plan
    if unavailable:
        raise ClewError(unavailable)
    if not core.active():
        _run, _plan = os.fspath(run), plan
        redaction.use(plan.redact)
        _begin(_cause_from_environment())
        _hook()


def use_plan(plan: Plan) -> None:
    """The plan was changed meanwhile: what forked children go by."""
    global _plan
    _plan = plan
    redaction.use(plan.redact)


def stop() -> None:
    """Ends this process's recording. Idempotent."""
    global _run
    _run = None
    with contextlib.suppress(Exception):
        _tell_the_end()
        core.stop()


def _end() -> None:
    if _started_by and core.active():
        core.emit(Kind.SEND, 0, process_end(_started_by), interned_strings.intern("process.end"))
    _tell_the_end()
    core.stop()


def _tell_the_end() -> None:
    if core.active():
        for tell in _enders:
            tell()
    _tell_sample()


def at_end(tell: Callable[[], None]) -> None:
    """Calls `tell`, which raises nothing, while the recording can still be added to."""
    _enders.append(tell)


end = core.to_the_end(_end)
"""Ends the recording with the process: whoever waits for the process waited for this. A Ctrl-C meanwhile is the program's."""


def _begin_sample() -> None:
    """Samples as the plan says, and says so at once: a process that is killed has no end to say it at."""
    share = 1.0 if _plan.sample is None else _plan.sample
    core.sample(share)
    if share < 1:
        text = f"request flows are sampled: {share * 100:.3g} % of them are recorded, each entirely or not at all"
        core.define(Kind.NOTE, 0, text.encode())


def _tell_sample() -> None:
    kept, dropped = core.flows()
    if core.active() and kept + dropped:
        text = f"of {kept + dropped} request flows that began in process {os.getpid()}, {kept} are recorded, the others are not"
        core.define(Kind.NOTE, 0, text.encode())


def run_folder() -> str | None:
    """The folder of the run that this process belongs to; None when it belongs to none."""
    return _run


def cause_by(key: int) -> Cause:
    """What a process that `key` is sent to has to be told."""
    return Cause(key, core.uid())


def parse_cause(text: str) -> Cause | None:
    """None for what is none."""
    text, _, given = text.partition("/")
    try:
        numbers = [int(number, 16) & _MASK for number in text.split("-")]
        key, uid, origin = numbers if len(numbers) != 2 else (*numbers, 0)
        return Cause(key, uid, origin, given)
    except (ValueError, TypeError):
        return None


def goes_on(told: Cause) -> Cause:
    """What another program has to be told that this process goes on as, when it is the target of `told`."""
    return told._replace(origin=_started_by)


def pause() -> None:
    """Ends this process's file, until `begin_again`."""
    core.stop()


def begin_again(told: Cause | None) -> None:
    """Records this process, which was to go on as another program or to wait for its cause, into a new file."""
    global _children_wait
    _children_wait = False
    if not core.active():
        _try_to_begin(told)


def let_children_wait() -> None:
    """Has processes that are forked from now on begin to record when `begin_again` is called there, not before."""
    global _children_wait
    _children_wait = True


def children_wait() -> bool:
    return _children_wait


def forked() -> int:
    """The key of the SEND to the child that the calling thread forked last; 0 when there is none."""
    return _fork.cause.key if _fork.cause else 0


def will_exec(yes: bool) -> None:
    """Says whether a child that the calling thread forks now is one that runs another program at once."""
    _fork.will_exec = yes


def at_start(define_all: Callable[[], None]) -> None:
    """Calls `define_all` now if this process is recording, and right after each later start, forked children included."""
    _definers.append(define_all)
    if core.active():
        _define(define_all)


def name_thread() -> None:
    """Defines the calling thread with its name of now; the recorder has seen only the one it was made with."""
    ident = threading.get_ident()
    for thread in threading.enumerate():  # not current_thread(): it would make up a thread that Python did not start
        if thread.ident == ident:
            text = {"name": thread.name, "native_id": threading.get_native_id(), "daemon": thread.daemon}
            core.define(Kind.THREAD, core.thread(), json.dumps(text).encode())
            return


def _cause_from_environment() -> Cause | None:
    """Takes `CLEW_CAUSE` out of the environment: a grandchild must not claim it too."""
    return parse_cause(os.environ.pop(CAUSE_VARIABLE, ""))


def given_streams() -> str:
    """What whoever started this program told it of its standard streams; once."""
    global _given_streams
    given, _given_streams = _given_streams, ""
    return given


def _begin(cause: Cause | None) -> None:
    """Opens a file in the run's folder. Raises what goes wrong."""
    global _started_by, _given_streams
    _given_streams = cause.streams if cause else ""
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
    """What the file's header says of the process, as JSON that fits its page."""
    fields = {
        "host": host_name(),
        "boot_id": boot_id(),
        "executable": sys.executable or "",
        "argv": _short_argv(),
        "cwd": _cwd(),
        "python": sys.version.split()[0],
        "recorder": "c",
    }
    for name in ("argv", "cwd", "executable", "host"):
        text = json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace")
        if len(text) <= INFO_MAX:
            return text
        del fields[name]  # absurdly long
    return b"{}"


def _short_argv() -> list[str]:
    """The command line, long arguments cut, and as many of them as fit."""
    argv: list[str] = []
    room = _MAX_ARGV
    for argument in redaction.current().arguments(sys.orig_argv):
        kept = argument if len(argument) <= _MAX_ARGUMENT else argument[:_MAX_ARGUMENT] + "…"
        room -= len(kept.encode("utf-8", "replace")) + 4
        if room < 0:
            return [*argv, "…"]
        argv.append(kept)
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
        if core.active() and not _fork.will_exec and not _children_wait:
            key = core.flow_key(_keys.fresh())
            core.emit(Kind.SEND, 0, key, interned_strings.intern("process.start"))
            _fork.cause = cause_by(key)


def _after_fork_in_child() -> None:
    cause, _fork.cause = _fork.cause, None
    if cause is not None:
        _try_to_begin(cause)
