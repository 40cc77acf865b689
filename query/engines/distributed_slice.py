"""Slice a partitioned run: deliver mail between workers in batches, without barriers, and restore lost workers.

An idle worker receives all its mail at once, follows every reachable edge of its part, and then returns the mail for other
parts. Workers do not wait for each other.

Invariants: a slice is complete when no call is open and no mail is left; this is the only barrier. A slice only grows, and
repeated mail does not change it. Therefore a lost worker is reset to its last saved state and receives its later mail again,
while the other workers continue.
"""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from clew.query.engines.local_pool import Pool, WorkerLost
from clew.query.engines.partial_slice import Mail, SliceOptions
from clew.records.errors import ClewError

SAVED_AFTER = 4 << 20
"""Bytes of mail to a worker after which its state is saved; this limits the mail to repeat after a loss."""
REVIVALS = 5
"""The number of times that one query may lose the same worker; more losses indicate a systematic failure."""

Rounds = Literal["one hop", "batched", "asynchronous"]
"""The schedule: one hop of edges between barriers, all local edges between barriers, or all local edges without barriers."""


@dataclass
class Traffic:
    """The cost of a query."""

    calls: int = 0
    rounds: int = 0
    """With barriers, their number; without barriers, the largest number of calls of one worker."""
    batches: int = 0
    bytes: int = 0
    saved: int = 0
    """The number of saves of a worker's state."""
    lost: int = 0
    """The number of lost workers."""
    recovery: list[float] = field(default_factory=list)
    """Seconds from the detection of each loss until the worker's state was restored."""
    seconds: float = 0.0


@dataclass(eq=False)
class Session:
    """A slice that workers hold, and the data to restore the share of a lost worker."""

    number: int
    options: SliceOptions
    states: dict[int, Any] = field(default_factory=dict)
    log: dict[int, list[Mail]] = field(default_factory=dict)
    """The mail sent to each part since its state was last saved."""
    traffic: Traffic = field(default_factory=Traffic)


@dataclass(eq=False)
class Coordinator:
    """The workers of a pool and the slices that they hold."""

    pool: Pool
    sessions: dict[int, Session] = field(default_factory=dict)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    ended: list[int] = field(default_factory=list)
    """The numbers of unused sessions whose workers are not yet notified."""

    # Calls

    def ask(self, calls: Mapping[int, tuple[Any, ...]], method: str) -> dict[int, Any]:
        """Call one method of some workers, and return the answers by part."""
        self._forget()
        return self._each(calls, method)

    def _each(self, calls: Mapping[int, tuple[Any, ...]], method: str) -> dict[int, Any]:
        answers: dict[int, Any] = {}
        losses: dict[int, int] = {}
        for part, arguments in calls.items():
            self.pool.submit(part, method, *arguments)
        while len(answers) < len(calls):
            try:
                answer = self.pool.next()
                assert answer is not None
                answers[answer[0]] = answer[1]
            except WorkerLost as lost:
                self._recover(lost.part, losses)
                self.pool.submit(lost.part, method, *calls[lost.part])
        return answers

    def _forget(self) -> None:
        while self.ended:
            number = self.ended.pop()
            if self.sessions.pop(number, None):
                self._each(dict.fromkeys(range(self.pool.parts), (number,)), "end")

    def _recover(self, part: int, losses: dict[int, int]) -> list[tuple[Session, dict[int, Mail]]]:
        """Restore a lost worker. Return the mail that it sends again; other workers may have received that mail before."""
        while True:
            losses[part] = losses.get(part, 0) + 1
            if losses[part] > REVIVALS:
                raise ClewError(
                    f"the worker of part {part} was lost {losses[part]} times, possibly because its machine lacks memory; "
                    "use more, smaller parts: `clew cluster partition RUN -o FOLDER --parts N`"
                )
            since = time.perf_counter()
            sent = []
            try:
                self.pool.revive(part)
                for session in self.sessions.values():
                    self.pool.call(part, "load", session.number, session.options, session.states.get(part))
                    for mail in session.log.get(part, []):
                        sent.append((session, self.pool.call(part, "advance", session.number, mail)[0]))
            except WorkerLost:
                continue
            for session in self.sessions.values():
                session.traffic.lost += 1
                session.traffic.recovery.append(time.perf_counter() - since)
            return sent

    # Slices

    def begin(self, options: SliceOptions) -> Session:
        self._forget()
        session = Session(next(self.numbers), options)
        self._each(dict.fromkeys(range(self.pool.parts), (session.number, options)), "begin")
        # Register the session only now: a worker that is lost in "begin" has no state of it to restore.
        self.sessions[session.number] = session
        return session

    def slice(
        self, session: Session, mail: Mapping[int, Mail], how: Rounds = "asynchronous", latency: float = 0.0
    ) -> None:
        """Compute the slice from its first mail. `latency` delays all mail by these seconds, to simulate a network."""
        run = _Run(self, session, how, latency)
        since = time.perf_counter()
        for part, reached in mail.items():
            if len(reached):
                run.inboxes[part].append(reached)
        run.go()
        session.traffic.seconds += time.perf_counter() - since


class _Run:
    """A slice in progress."""

    def __init__(self, coordinator: Coordinator, session: Session, how: Rounds, latency: float) -> None:
        self.coordinator, self.session, self.how, self.latency = coordinator, session, how, latency
        parts = coordinator.pool.parts
        self.inboxes: list[list[Mail]] = [[] for _ in range(parts)]
        self.in_transit: list[tuple[float, int, int, Mail]] = []
        """A heap of delayed mail: its arrival time, a sequence number, the receiving part and the mail."""
        self.open: set[int] = set()
        self.unfinished: set[int] = set()
        """The parts that have edges left to follow without further mail."""
        self.calls = [0] * parts
        self.losses: dict[int, int] = {}
        self.count = 0

    def go(self) -> None:
        traffic = self.session.traffic
        while True:
            self._deliver()
            if self.how == "asynchronous" or not (self.open or self.in_transit):
                self._dispatch()
            if self.open:
                self._receive(self.in_transit[0][0] - time.monotonic() if self.in_transit else None)
            elif self.in_transit:
                time.sleep(max(0.0, self.in_transit[0][0] - time.monotonic()))
            else:
                break
        if self.how == "asynchronous":
            traffic.rounds += max(self.calls)

    def _deliver(self) -> None:
        while self.in_transit and self.in_transit[0][0] <= time.monotonic():
            _, _, part, mail = heapq.heappop(self.in_transit)
            self.inboxes[part].append(mail)

    def _dispatch(self) -> None:
        """Send each idle worker all its mail."""
        session, traffic = self.session, self.session.traffic
        ready = [
            part for part, box in enumerate(self.inboxes) if part not in self.open and (box or part in self.unfinished)
        ]
        if ready and self.how != "asynchronous":
            traffic.rounds += 1
        for part in ready:
            width: tuple[int, ...] = (0, 3) if session.options.limited else (0,)
            mail = np.unique(np.concatenate([np.zeros(width, np.uint32), *self.inboxes[part]]), axis=0)
            self.inboxes[part] = []
            self._save(part)
            session.log.setdefault(part, []).append(mail)
            self.open.add(part)
            self.calls[part] += 1
            traffic.calls += 1
            rounds = 1 if self.how == "one hop" else -1
            self.coordinator.pool.submit(part, "advance", session.number, mail, rounds)

    def _save(self, part: int) -> None:
        """Save a worker's state if its log is long. The worker has no call open, so the call returns at once."""
        session = self.session
        if sum(mail.nbytes for mail in session.log.get(part, [])) < SAVED_AFTER:
            return
        try:
            session.states[part] = self.coordinator.pool.call(part, "save", session.number)
            session.log[part] = []
            session.traffic.saved += 1
        except WorkerLost:
            self._lost(part)

    def _receive(self, seconds: float | None) -> None:
        """Receive one answer, if it arrives in time."""
        try:
            answer = self.coordinator.pool.next(None if seconds is None else max(0.0, seconds))
        except WorkerLost as lost:
            self.open.discard(lost.part)
            self._lost(lost.part)
            return
        if answer is None:
            return
        part, (found, idle) = answer
        self.open.discard(part)
        (self.unfinished.discard if idle else self.unfinished.add)(part)
        self._send(found)

    def _lost(self, part: int) -> None:
        self.unfinished.discard(part)
        for session, found in self.coordinator._recover(part, self.losses):
            # Skip mail of other slices: these are complete, so it was delivered before.
            if session is self.session:
                self._send(found)

    def _send(self, found: Mapping[int, Mail]) -> None:
        for part, mail in found.items():
            self.session.traffic.batches += 1
            self.session.traffic.bytes += mail.nbytes
            self.count += 1
            if self.latency:
                heapq.heappush(self.in_transit, (time.monotonic() + self.latency, self.count, part, mail))
            else:
                self.inboxes[part].append(mail)
