"""The recorder in C (`csrc/`): a module with the state of this process's one recording.

Invariant: a probe, `emit` and `define` never raise because of the recording's state; when nothing is recorded they do
nothing.
"""

from collections.abc import Callable
from typing import Any, Never, final

@final
class Probe:
    """Stores one kind of plain record for one site: `~probe` or `probe()`; of an UNWIND, `error in probe` or
    `probe(error)`: an EXIT, if the exception says that nothing failed."""

    def __new__(cls, site: int, kind: int) -> Probe: ...
    @property
    def site(self) -> int: ...
    @property
    def kind(self) -> int: ...
    @property
    def counting(self) -> bool:
        """Does the budget have the site counted?"""
    @property
    def count(self) -> int:
        """Calls of the site that were counted in this recording; 0 when nothing is recorded."""
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

def start(path: str, info: bytes, parent_uid: int, quota: int, budget: float, keep_newest: bool = ...) -> None:
    """Opens a new trace file. `quota` in bytes; `budget` is a share of CPU time, 0 for no bound; `keep_newest`: at the
    quota the oldest events are dropped, else recording stops. Raises `OSError` when the file can't be made, when `info`
    does not fit its page, or when a recording is under way."""

def stop() -> None:
    """Closes the file and cuts it to what was used. Does nothing when nothing is recorded."""

def active() -> bool:
    """False before `start`, after `stop`, after the quota or a full disk, and in a forked child until it starts."""

def uid() -> int:
    """The random id of the recording under way or, when there is none, of the next one."""

def problem() -> str:
    """Why recording stopped early, as a sentence; "" when it did not."""

def emit(kind: int, site: int, key: int, channel: int = 0, text: bytes = b"", flags: int = 0) -> None:
    """Stores a record with an extension in the calling thread's stream. Any int is a key: its low 64 bits."""

def define(kind: int, key: int, text: bytes, /) -> None:
    """Stores a definition. Of several with the same kind and key the last one holds."""

def thread() -> int:
    """The calling thread's serial in this recording, from 1; 0 when nothing is recorded."""

def to_the_end(function: Callable[[], None], /) -> Callable[[], None]:
    """A function that calls `function`, which may be begun several times, until it got to its end. What is raised in it
    is dropped; an interrupt (Ctrl-C) comes anew afterwards, where it does not show our frames."""

def sample(share: float, /) -> None:
    """Records this share of the request flows that begin here, whole or not at all; 1 for all. Call it after `start`."""

def flow() -> int:
    """What the calling thread works for: 0 no sampled flow, 1 one that is recorded, 2 one that is not."""

def flows() -> tuple[int, int]:
    """How many flows that began here are kept, and how many are dropped."""

def flow_key(key: int, /) -> int:
    """A fresh key, made to carry the calling thread's flow to other processes; as it is when nothing is sampled."""

def flow_known(key: int, state: int, /) -> None:
    """Who sent `key`, in another process, works for a flow of this state, as of `flow`."""

def key_space() -> int: ...
def watch_queues(*arguments: Any) -> tuple[Operand, Operand, Operand, Operand]: ...
def watch_simple_queues(queue: type, channel: int, put_site: int, get_site: int, /) -> None: ...
def join_items(queue: object, /) -> None: ...
def ignore_simple_queue(queue: object, /) -> None: ...
def watch_handles(*arguments: Any) -> tuple[Operand, Operand, Operand]: ...
def watch_futures(future: type, site: int, /) -> None: ...
def watch_tasks(task: type, site: int, /) -> None: ...
def outcome_taken(future: object, /) -> None: ...
def calibrate() -> float:
    """Nanoseconds that storing one plain record takes here and now."""

def emitted() -> int:
    """How many records the calling thread made by `emit` since it is known, as 32 bits."""

def book(ns: float, emitted: float, /) -> bool:
    """Tells the budget that a site's actions took `ns` and made so many records by `emit`. True when the budget is
    overdrawn and actions have the greater part in it: then the dearest is to be judged, once for every True."""

def pretend(cpu_ns: int, cost: float, /) -> None:
    """For tests of the budget: from here on the process CPU time is `cpu_ns`, and a plain record costs `cost` ns."""

def trace_locks(
    threading: dict[str, Any],
    lock_type: type,
    rlock_type: type,
    mechanisms: tuple[tuple[int, int, int], ...],
    callers: dict[str, int],
    /,
) -> bool: ...
def waiter() -> Any: ...
def watch_streams(machine: int, sockets: tuple[int, int, int], pipes: tuple[int, int, int], /) -> list[str]: ...
def watch_transfer(number: int, function: Any, /) -> None: ...
def watch_transfers(sample: object, /) -> None: ...
def hand_streams(descriptors: tuple[int, ...], /) -> list[tuple[int, ...] | None]: ...
def adopt_stream(descriptor: int, mark: str, /, *told: int) -> None: ...
def forget_stream(descriptor: int, /) -> None: ...
def mute_streams(on: bool, /) -> None: ...
def watch_collector(callbacks: list[Any], site: int, channel: int, /) -> None: ...
def collecting() -> bool: ...
def watch_signals(channel: int, /, *senders_and_sites: Any) -> None: ...
def signal_cause(number: int, /) -> int: ...
def watch_contexts(copy_context: Any, channel: int, copy_site: int, run_site: int, /) -> Any: ...

@final
class Latch:
    """A descriptor that stands for the attribute `name`: it records a `set_kind` when that becomes one of `values`,
    with a fresh key that it keeps in the object as `_clew_key`, and a `get_kind` with this key when it is read and is one of
    them. A kind of 0 records nothing. The class must have `_clew_key = 0`."""

    def __new__(
        cls,
        name: str,
        values: tuple[object, ...],
        channel: int,
        set_kind: int,
        set_site: int,
        get_kind: int,
        get_site: int,
    ) -> Latch: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any: ...
    def __set__(self, instance: object, value: object) -> None: ...
