"""Slices over parts: mail between workers, in batches and without barriers, and what is done when a worker is lost.

A worker that has mail and no call open gets all its mail at once, follows every edge of its part that this uncovers, and
only then hands on what leaves the part. Nobody waits for a round to end. Invariants: a slice is over when no call is open
and no mail is left, which is the only barrier; since a slice only grows and mail may come twice, a lost worker is put back
to the state it was last saved in and gets the mail it had since once more, while the others go on.
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
from clew.query.engines.partial_slice import Ask, Mail
from clew.records.errors import ClewError

SAVED_AFTER = 4 << 20
"""Bytes of mail to a worker after which its state is saved, so that not more than that has to be followed again."""
REVIVALS = 5
"""The number of times that one query may lose the same worker; more losses indicate a systematic failure."""

Rounds = Literal["one hop", "batched", "asynchronous"]
"""One hop of edges between barriers; all local edges between barriers; and all local edges without barriers."""


@dataclass
class Traffic:
    """The cost of a query."""

    calls: int = 0
    rounds: int = 0
    """With barriers, their number; without barriers, the largest number of calls of one worker."""
    batches: int = 0
    bytes: int = 0
    saved: int = 0
    """The number of times that a worker state was saved."""
    lost: int = 0
    """The number of lost workers."""
    recovery: list[float] = field(default_factory=list)
    """Seconds from the detection of a loss until the worker state was restored."""
    seconds: float = 0.0


@dataclass(eq=False)
class Session:
    """A slice that workers hold, and the data to restore the share of a lost worker."""

    number: int
    ask: Ask
    states: dict[int, Any] = field(default_factory=dict)
    log: dict[int, list[Mail]] = field(default_factory=dict)
    """The mail to each part since its state was saved."""
    traffic: Traffic = field(default_factory=Traffic)


@dataclass(eq=False)
class Crew:
    """The workers of a pool and the slices that they hold."""

    pool: Pool
    sessions: dict[int, Session] = field(default_factory=dict)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    ended: list[int] = field(default_factory=list)
    """Sessions that are no longer in use; the workers are not yet notified."""

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
        """Restore a lost worker. Return the mail that it sends meanwhile; other workers may have received it before."""
        while True:
            losses[part] = losses.get(part, 0) + 1
            if losses[part] > REVIVALS:
                raise ClewError(
                    f"the worker of part {part} was lost {losses[part]} times; is there memory enough on its machine? "
                    "More parts make workers smaller: `clew cluster partition RUN -o FOLDER --parts N`"
                )
            since = time.perf_counter()
            sent = []
            try:
                self.pool.revive(part)
                for session in self.sessions.values():
                    self.pool.call(part, "load", session.number, session.ask, session.states.get(part))
                    for mail in session.log.get(part, []):
                        sent.append((session, self.pool.call(part, "go_on", session.number, mail)[0]))
            except WorkerLost:
                continue
            for session in self.sessions.values():
                session.traffic.lost += 1
                session.traffic.recovery.append(time.perf_counter() - since)
            return sent

    # Slices

    def begin(self, ask: Ask) -> Session:
        self._forget()
        session = Session(next(self.numbers), ask)
        self._each(dict.fromkeys(range(self.pool.parts), (session.number, ask)), "begin")
        # Not before: a worker that is lost while it begins has nothing yet.
        self.sessions[session.number] = session
        return session

    def slice(
        self, session: Session, mail: Mapping[int, Mail], how: Rounds = "asynchronous", latency: float = 0.0
    ) -> None:
        """Makes the slice of what the mail reaches. `latency` is what mail takes besides, in seconds, to try a network out."""
        run = _Run(self, session, how, latency)
        since = time.perf_counter()
        for part, reached in mail.items():
            if len(reached):
                run.boxes[part].append(reached)
        run.go()
        session.traffic.seconds += time.perf_counter() - since


class _Run:
    """A slice in progress."""

    def __init__(self, crew: Crew, session: Session, how: Rounds, latency: float) -> None:
        self.crew, self.session, self.how, self.latency = crew, session, how, latency
        parts = crew.pool.parts
        self.boxes: list[list[Mail]] = [[] for _ in range(parts)]
        self.underway: list[tuple[float, int, int, Mail]] = []
        """Mail that is on the network: when it comes in, a number, the part, and what it says."""
        self.open: set[int] = set()
        self.unfinished: set[int] = set()
        """The parts that have edges left to follow without further mail."""
        self.calls = [0] * parts
        self.losses: dict[int, int] = {}
        self.count = 0

    def go(self) -> None:
        traffic = self.session.traffic
        while True:
            self._arrive()
            if self.how == "asynchronous" or not (self.open or self.underway):
                self._hand_out()
            if self.open:
                self._take(self.underway[0][0] - time.monotonic() if self.underway else None)
            elif self.underway:
                time.sleep(max(0.0, self.underway[0][0] - time.monotonic()))
            else:
                break
        if self.how == "asynchronous":
            traffic.rounds += max(self.calls)

    def _arrive(self) -> None:
        while self.underway and self.underway[0][0] <= time.monotonic():
            _, _, part, mail = heapq.heappop(self.underway)
            self.boxes[part].append(mail)

    def _hand_out(self) -> None:
        """Send each idle worker all its mail."""
        session, traffic = self.session, self.session.traffic
        ready = [
            part for part, box in enumerate(self.boxes) if part not in self.open and (box or part in self.unfinished)
        ]
        if ready and self.how != "asynchronous":
            traffic.rounds += 1
        for part in ready:
            width: tuple[int, ...] = (0, 3) if session.ask.limited else (0,)
            mail = np.unique(np.concatenate([np.zeros(width, np.uint32), *self.boxes[part]]), axis=0)
            self.boxes[part] = []
            self._save(part)
            session.log.setdefault(part, []).append(mail)
            self.open.add(part)
            self.calls[part] += 1
            traffic.calls += 1
            rounds = 1 if self.how == "one hop" else -1
            self.crew.pool.submit(part, "go_on", session.number, mail, rounds)

    def _save(self, part: int) -> None:
        """Saves the worker's state when its log is long; it has no call open, so nobody waits but for it."""
        session = self.session
        if sum(mail.nbytes for mail in session.log.get(part, [])) < SAVED_AFTER:
            return
        try:
            session.states[part] = self.crew.pool.call(part, "save", session.number)
            session.log[part] = []
            session.traffic.saved += 1
        except WorkerLost:
            self._lost(part)

    def _take(self, seconds: float | None) -> None:
        """Receive one answer, if it arrives in time."""
        try:
            answer = self.crew.pool.next(None if seconds is None else max(0.0, seconds))
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
        for session, found in self.crew._recover(part, self.losses):
            # Those of other slices had arrived before, or those would not be over.
            if session is self.session:
                self._send(found)

    def _send(self, found: Mapping[int, Mail]) -> None:
        for part, mail in found.items():
            self.session.traffic.batches += 1
            self.session.traffic.bytes += mail.nbytes
            self.count += 1
            if self.latency:
                heapq.heappush(self.underway, (time.monotonic() + self.latency, self.count, part, mail))
            else:
                self.boxes[part].append(mail)
