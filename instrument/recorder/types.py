"""What a recorder is: the face that the C core and its pure-Python twin share, so that no caller knows which one runs.

Invariant: a probe, `emit` and `define` never raise because of the recording's state; when nothing is recorded they do
nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol


class Probe(Protocol):
    """Stores one kind of plain record for one site: `~probe` or `probe()`; of an UNWIND, `error in probe` or
    `probe(error)`: an EXIT, if the exception says that nothing failed."""

    @property
    def site(self) -> int: ...
    @property
    def kind(self) -> int: ...
    @property
    def counting(self) -> bool:
        """Does the budget have the site counted?"""
        ...

    @property
    def count(self) -> int:
        """Calls of the site that were counted in this recording; 0 when nothing is recorded."""
        ...

    def __invert__(self) -> None: ...
    def __contains__(self, error: object, /) -> bool: ...
    def __call__(self, *given: object) -> None: ...


class MakeProbe(Protocol):
    def __call__(self, site: int, kind: int) -> Probe: ...


class MakeLatch(Protocol):
    """Makes a descriptor that stands for the attribute `name`: it records a `set_kind` when that becomes one of `values`,
    with a fresh key that it keeps in the object as `_clew_key`, and a `get_kind` with this key when it is read and is one of
    them. A kind of 0 records nothing. The class must have `_clew_key = 0`."""

    def __call__(  # noqa: PLR0917  # what two records hold
        self,
        name: str,
        values: tuple[object, ...],
        channel: int,
        set_kind: int,
        set_site: int,
        get_kind: int,
        get_site: int,
    ) -> Any: ...


class Recorder(Protocol):
    """A module with the state of this process's one recording."""

    @property
    def Probe(self) -> MakeProbe: ...

    @property
    def Latch(self) -> MakeLatch: ...

    def start(  # noqa: PLR0917  # what a recording is made of, in the order of the plan
        self, path: str, info: bytes, parent_uid: int, quota: int, budget: float, keep_newest: bool = False
    ) -> None:
        """Opens a new trace file. `quota` in bytes; `budget` is a share of CPU time, 0 for no bound; `keep_newest`: at the
        quota the oldest events are dropped, else recording stops. Raises `OSError` when the file can't be made, when `info`
        does not fit its page, or when a recording is under way."""
        ...

    def stop(self) -> None:
        """Closes the file and cuts it to what was used. Does nothing when nothing is recorded."""
        ...

    def active(self) -> bool:
        """False before `start`, after `stop`, after the quota or a full disk, and in a forked child until it starts."""
        ...

    def uid(self) -> int:
        """The random id of the recording under way or, when there is none, of the next one."""
        ...

    def problem(self) -> str:
        """Why recording stopped early, as a sentence; "" when it did not."""
        ...

    def emit(  # noqa: PLR0917  # what a record holds, in the order it is read
        self, kind: int, site: int, key: int, channel: int = 0, text: bytes = b"", flags: int = 0
    ) -> None:
        """Stores a record with an extension in the calling thread's stream. Any int is a key: its low 64 bits."""
        ...

    def define(self, kind: int, key: int, text: bytes) -> None:
        """Stores a definition. Of several with the same kind and key the last one holds."""
        ...

    def thread(self) -> int:
        """The calling thread's serial in this recording, from 1; 0 when nothing is recorded."""
        ...

    def to_the_end(self, function: Callable[[], None]) -> Callable[[], None]:
        """A function that calls `function`, which may be begun several times, until it got to its end. What is raised in it
        is dropped; an interrupt (Ctrl-C) comes anew afterwards, where it does not show our frames (C recorder only)."""
        ...

    def sample(self, share: float) -> None:
        """Records this share of the request flows that begin here, whole or not at all; 1 for all. Call it after `start`."""
        ...

    def flow(self) -> int:
        """What the calling thread works for: 0 no sampled flow, 1 one that is recorded, 2 one that is not."""
        ...

    def flows(self) -> tuple[int, int]:
        """How many flows that began here are kept, and how many are dropped."""
        ...

    def flow_key(self, key: int) -> int:
        """A fresh key, made to carry the calling thread's flow to other processes; as it is when nothing is sampled."""
        ...

    def flow_known(self, key: int, state: int) -> None:
        """Who sent `key`, in another process, works for a flow of this state, as of `flow`."""
        ...

    def emitted(self) -> int:
        """How many records the calling thread made by `emit` since it is known, as 32 bits."""
        ...

    def book(self, ns: float, emitted: float, /) -> bool:
        """Tells the budget that a site's actions took `ns` and made so many records by `emit`. True when the budget is
        overdrawn and actions have the greater part in it: then the dearest is to be judged, once for every True."""
        ...

    def pretend(self, cpu_ns: int, cost: float, /) -> None:
        """For tests of the budget: from here on the process CPU time is `cpu_ns`, and a plain record costs `cost` ns."""
        ...

    def calibrate(self) -> float:
        """Nanoseconds that storing one plain record takes here and now."""
        ...
