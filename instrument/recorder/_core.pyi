"""The recorder in C (`csrc/`): a module with the state of this process's only recording.

Invariant: probes, `emit` and `define` never raise because of the recording's state. They have no effect without a
recording.
"""

from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any, Never, final

@final
class Probe:
    """A probe that stores one kind of plain record for one site, by `~probe` or `probe()`.

    For an UNWIND, it is `error in probe` or `probe(error)`, which stores an EXIT if the exception is not a failure.
    """

    def __new__(cls, site: int, kind: int) -> Probe: ...
    @property
    def site(self) -> int: ...
    @property
    def kind(self) -> int: ...
    @property
    def counting(self) -> bool:
        """Whether the budget reduced the site to counting its calls."""
    @property
    def count(self) -> int:
        """The number of counted calls of the site in this recording; 0 without a recording."""
    def __invert__(self) -> None: ...
    def __contains__(self, error: object, /) -> bool: ...
    def __next__(self) -> Never: ...
    def __call__(self, *given: object) -> None: ...

@final
class Operand:
    def __new__(
        cls, kind: int, site: int, channel: int, space: int, attribute: str = ..., wanted: bool = True
    ) -> Operand: ...
    def __delitem__(self, item: object, /) -> None: ...
    def __setitem__(self, item: object, other: object, /) -> None: ...
    def __invert__(self) -> None: ...

@final
class Write:
    """Record that an object is written, by `write[object] = value`; see `clew.records.format.states`.

    `del write[key]` remembers an item's key for the assignment right after it; with the form GIVEN, it records that a
    call gets an object. `write[object] = write` is a deletion. A `number` replaces the address of a variable. `hidden`
    values and, without `texts`, strings are not recorded.
    """

    def __new__(cls, form: int, site: int, channel: int, number: int, hidden: bool, texts: bool) -> Write: ...
    def __delitem__(self, item: object, /) -> None: ...
    def __setitem__(self, item: object, value: object, /) -> None: ...

def start(path: str, info: bytes, parent_uid: int, quota: int, budget: float, keep_newest: bool = ...) -> None:
    """Open a new trace file.

    `quota` is in bytes; `budget` is a share of CPU time, 0 for no limit. At the quota, the recording stops, or with
    `keep_newest` drops the oldest events. Raise `OSError` if the file cannot be created, if `info` does not fit its page,
    or if a recording is active.
    """

def stop() -> None:
    """Close the file and truncate it to its used size. No effect without a recording."""

def active() -> bool:
    """Return False before `start`, after `stop`, after the quota or a full disk, and in a forked child until it starts."""

def uid() -> int:
    """Return the random id of the active recording or, without one, of the next recording."""

def problem() -> str:
    """Return the reason why recording stopped early, as a sentence, or ""."""

def emit(kind: int, site: int, key: int, channel: int = 0, text: bytes = b"", flags: int = 0) -> None:
    """Store a record with an extension in the calling thread's stream. The key is the low 64 bits of any int."""

def define(kind: int, key: int, text: bytes, /) -> None:
    """Store a definition. It replaces an earlier one of the same kind and key."""

def thread() -> int:
    """Return the calling thread's serial in this recording, from 1; 0 without a recording."""

def to_the_end(function: Callable[[], None], /) -> Callable[[], None]:
    """Return a function that calls `function` until it completes, repeatedly if a call is interrupted.

    Exceptions of `function` are dropped. An interrupt (Ctrl-C) is raised again afterwards, without clew's frames.
    """

def sample(share: float, /) -> None:
    """Record this share of the request flows that begin here, each completely or not at all; 1 records all.

    Call it after `start`.
    """

def flow() -> int:
    """Return the calling thread's flow: 0 for no sampled flow, 1 for a recorded one, 2 for a dropped one."""

def flows() -> tuple[int, int]:
    """Return the numbers of recorded and dropped flows that began in this process."""

def flow_key(key: int, /) -> int:
    """Return the fresh `key`, changed to carry the calling thread's flow to other processes; unchanged without sampling."""

def flow_known(key: int, state: int, /) -> None:
    """Set the flow of the sender of `key`, in another process, to `state`, one of the values of `flow`."""

def key_space() -> int: ...
def watch_queues(*arguments: Any) -> tuple[Operand, Operand, Operand, Operand]: ...
def watch_simple_queues(queue: type, empty: type, channel: int, put_site: int, get_site: int, /) -> None: ...
def join_items(queue: object, /) -> None: ...
def ignore_simple_queue(queue: object, /) -> None: ...
def watch_handles(*arguments: Any) -> tuple[Operand, Operand, Operand]: ...
def watch_futures(future: type, site: int, /) -> None: ...
def watch_tasks(task: type, site: int, /) -> None: ...
def outcome_taken(future: object, /) -> None: ...
def calibrate() -> float:
    """Measure how many nanoseconds it takes to store one plain record on this machine now."""

def emitted() -> int:
    """Return how many records the calling thread has stored by `emit`, as a 32-bit counter."""

def book(ns: float, emitted: float, /) -> bool:
    """Add the cost of a site's actions to the budget: `ns`, and the number of records by `emit`.

    Return True if the budget is exceeded and actions have the greater part in it. For every True, the caller must judge
    the most expensive action once.
    """

def pretend(cpu_ns: int, cost: float, /) -> None:
    """Set the process CPU time to `cpu_ns` and the cost of a plain record to `cost` ns, for tests of the budget."""

def trace_locks(
    threading: dict[str, Any],
    lock_type: type,
    rlock_type: type,
    mechanisms: tuple[tuple[int, int, int], ...],
    callers: dict[str, int],
    channels: tuple[int, int],
    /,
) -> bool: ...
def trace_process_locks(lock_type: type, acquire_site: int, release_site: int, /) -> None: ...
def share_lock(lock: object, key: int, channel: int, capacity: int, held: bool, recursive: bool, /) -> None:
    """Tell the key of a lock that processes share. `held`: record its acquires, and not its waits alone.

    `capacity` is the number of slots of a semaphore, else 0. The owner of a `recursive` lock may acquire it again.
    """

def shared_key(lock: object, /) -> int:
    """Return the key that `share_lock` told, 0 for none."""

def watch_waits(
    rules: dict[
        tuple[str, str],
        tuple[int, str, str, str, Callable[[Any], tuple[int, bytes] | tuple[int, bytes, int]] | None, bool] | None,
    ],
) -> None: ...
def object_key(value: object, /) -> int: ...
def slots_are(value: object, slots: int, /) -> None:
    """Tell how many slots a resource has that does not say so itself."""

def part_of(part: object, owner: object, channel: int, /) -> None:
    """Tell that who waits for `part`, which takes attributes, waits for `owner` by the channel."""

def wait(channel: int, key: int, limit: object, fields: bytes, /) -> tuple[int, int, int, int] | None: ...
def hold(channel: int, key: int, site: int, fields: bytes, /) -> None: ...
def wake(wait: tuple[int, int, int, int], end: str, /) -> None: ...
def watch_stack(
    origin: Callable[[str], int],
    site: Callable[[CodeType, dict[str, Any], int], int],
    /,
) -> None: ...
def stack_site() -> int: ...
def watch_exceptions(redact: Callable[[str], object], intern: Callable[[str], object], channel: int, /) -> None: ...
def exception_record(error: object, role: str, /) -> int:
    """Record an exception in a role of `clew.records.format.facts` and return its key, 0 if it is not recorded."""

def exceptions_over() -> None: ...
def watch_outputs(text: object, write: object, redact: Callable[[str], object], channel: int, /) -> None: ...
def mute_outputs(on: bool, /) -> None: ...
def outputs_over() -> None: ...
def waiter() -> Any: ...
def watch_task_waits(
    timer: type,
    task: int,
    future: int,
    sleep: int,
    stream: int,
    describe: Callable[[Any], bytes | None],
    limit: Callable[[Any], float | None],
    cancelled_error: type[BaseException],
    /,
) -> bool:
    """Record what tasks of the C type wait for. Return False if this Python's tasks are not supported.

    The numbers are channels. `describe` returns the fields of a WAIT for a future of a subclass; `limit` returns the seconds
    that a task has left in blocks with a time limit.
    """

def await_about(future: object, key: int, channel: int, fields: bytes, /) -> None:
    """Tell what a wait for `future` is a wait for. `fields` are members of a JSON object; key 0 takes a fresh key."""

def await_next(function: str, fields: bytes, /) -> None:
    """Tell the same about the future that the function of this name awaits later in the present step."""

def ends_of(futures: Iterable[object], limit: object = None, /) -> bytes:
    """Return the fields of a wait for the ends of futures: of the first 16 that are tasks and run."""

def wait_timed_out(future: object, /) -> None: ...
def strand_key(task: object, /) -> int: ...
def limit_task(task: object, on: bool, /) -> None: ...
def blocking(channel: int, waiters: str, /) -> object:
    """Return the operand of a new future and of the object that a task is to wait for.

    `waiters` is the object's attribute with the futures of those that wait already.
    """

def holding(
    channel: int,
    capacity: str | None,
    release_site: int,
    held: str | None,
    inner: bool = False,
    counted: bool = False,
    /,
) -> tuple[object, object]:
    """Return the operands for taking and giving back a resource, which they act on, with the number of slots as second value.

    `capacity` is the attribute with the number of slots. If `held` is given, only a resource of which this attribute is true
    is given back. With `inner`, they leave out calls that a coroutine `acquire…` of the same file makes itself. With
    `counted`, they leave out a resource whose number of slots is 0 or not known: that is a signal.
    """

def watch_cancels(channel: int, redacted: Callable[[str], str], /) -> None: ...
def asking(channel: int, site: int, deadline: bool, by: int, owner: int, /) -> tuple[int, int, bool, int, int]:
    """Set for whom this thread's cancellations are asked, and return the previous setting; channel 0 means the caller.

    `site` is used if no line of the program is on the stack. `by`, if not 0, asks for each task once.
    `owner` is the key of the task that entered the scope, or 0.
    """

def asking_once(future: object, channel: int, deadline: bool, /) -> None: ...
def cancel_asked(key: int, channel: int, name: str | None, accepted: bool, message: object, /) -> None: ...
def watch_streams(machine: int, sockets: tuple[int, int, int], pipes: tuple[int, int, int], /) -> list[str]: ...
def watch_transfer(number: int, function: Any, /) -> None: ...
def watch_transfers(sample: object, /) -> None: ...
def hand_streams(descriptors: tuple[int, ...], /) -> list[tuple[int, ...] | None]: ...
def adopt_stream(descriptor: int, mark: str, /, *state: int) -> None: ...
def forget_stream(descriptor: int, /) -> None: ...
def mute_streams(on: bool, /) -> None: ...
def watch_collector(callbacks: list[Any], site: int, channel: int, /) -> None: ...
def collecting() -> bool: ...
def pause_source() -> str: ...
def watch_pauses(on: bool, /) -> None: ...
def watch_signals(channel: int, /, *senders_and_sites: Any) -> None: ...
def signal_cause(number: int, /) -> int: ...
def watch_contexts(copy_context: Any, channel: int, copy_site: int, run_site: int, /) -> Any: ...

@final
class Latch:
    """A descriptor that replaces the attribute `name`, and records when the attribute becomes one of `values` and is read.

    Setting one of `values` records a `set_kind` with a fresh key (with `own`, with `object_key` of the object), which the
    object keeps as `_clew_key`. Reading one of them records a `get_kind` with this key. A kind of 0 disables the record. The
    class must have `_clew_key = 0`.
    """

    def __new__(
        cls,
        name: str,
        values: tuple[object, ...],
        channel: int,
        set_kind: int,
        set_site: int,
        get_kind: int,
        get_site: int,
        own: bool = ...,
    ) -> Latch: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any: ...
    def __set__(self, instance: object, value: object) -> None: ...
