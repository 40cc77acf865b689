"""Puts the clocks of several machines onto one, by the messages between them: no effect comes before its cause.

A message bounds the difference of two clocks from one side: it was sent before it was received. Messages both ways bound it
from both, and the middle of what they leave is the estimate, as the delays' minima are taken to be alike. Bounds are combined
along every path of machines (shortest paths over difference constraints), so that the clocks of three machines agree as well.
A clock's rate is fitted as the steepness of the line that keeps farthest from both sides' messages (Duda et al., "Estimating
global time in distributed systems", 1987, with convex hulls). Invariant: when any correction satisfies all messages, the one
given does; when none does (a clock was set meanwhile), `Alignment.backward_ns` says by how much the worst message is off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]

MAX_RATE = 500e-6
"""Clocks that are kept by a network's time are never steered faster than this."""
ENOUGH = 4
"""Messages in each direction from which on a clock's rate is fitted."""
_STEPS = 100
"""Of a search by thirds; each leaves two of three."""
_FEW = 64
_FAR = 1 << 61
"""Stands for no limit: two of them can be added, and a real limit subtracted."""


@dataclass(frozen=True)
class Messages:
    """Columns, one row per message: the numbers of two clocks, and what each showed in nanoseconds."""

    sender: npt.NDArray[np.intp]
    sent: I64
    receiver: npt.NDArray[np.intp]
    received: I64

    def __len__(self) -> int:
        return len(self.sender)


@dataclass(frozen=True)
class Correction:
    """What one clock's nanoseconds get added: `offset_ns` at `at_ns`, and `rate` more for each nanosecond since."""

    offset_ns: int = 0
    rate: float = 0.0
    at_ns: int = 0
    below_ns: float = 0.0
    """The true offset to the reference clock is at least this much below the one given; infinite when unknown."""
    above_ns: float = 0.0
    messages: int = 0
    """How many bound this clock."""

    def apply(self, ts: I64) -> I64:
        if self.rate:
            moved: I64 = ts + np.rint((ts - self.at_ns) * self.rate).astype(np.int64) + self.offset_ns
            return moved
        return ts + np.int64(self.offset_ns)


@dataclass(frozen=True)
class Alignment:
    """One correction per clock; the reference clock's is nothing."""

    corrections: tuple[Correction, ...]
    reference: int = 0
    backward_ns: int = 0
    """By how much the worst message still arrives before it was sent, 0 when none does."""

    @property
    def changes(self) -> bool:
        return any(correction.offset_ns or correction.rate for correction in self.corrections)


def align(clocks: int, messages: Messages, reference: int = 0) -> Alignment:
    """The corrections of clocks 0 up to `clocks`, so that the reference keeps its own time.

    Raises ValueError when a message names a clock that is not there.
    """
    if len(messages) and not (
        min(messages.sender.min(), messages.receiver.min()) >= 0
        and max(messages.sender.max(), messages.receiver.max()) < clocks
    ):
        raise ValueError(f"a message names a clock that is none of the {clocks}")
    between = messages.sender != messages.receiver
    messages = Messages(
        messages.sender[between], messages.sent[between], messages.receiver[between], messages.received[between]
    )
    if not len(messages):
        return Alignment((Correction(),) * clocks, reference)
    rates = _rates(clocks, messages, reference)
    closed, slack = _closed(_limits(clocks, _steady(messages, rates)))
    if slack and any(rate.rate for rate in rates):
        # Each rate was fitted with those before it given: together they may contradict what steady clocks would not.
        plain, plain_slack = _closed(_limits(clocks, messages))
        if plain_slack < slack:
            rates, closed, slack = [_Rate()] * clocks, plain, plain_slack
    offset = _offsets(closed, reference)
    counts = np.bincount(messages.sender, minlength=clocks) + np.bincount(messages.receiver, minlength=clocks)
    corrections = []
    for clock, (rate, shift) in enumerate(zip(rates, offset, strict=True)):
        if clock == reference:
            corrections.append(Correction(messages=int(counts[clock])))
            continue
        drift = rate.uncertain * rate.reach_ns
        below = _bound(shift + int(closed[reference, clock]), drift)
        above = _bound(int(closed[clock, reference]) - shift, drift)
        corrections.append(Correction(shift, rate.rate, rate.at_ns, below, above, int(counts[clock])))
    return Alignment(tuple(corrections), reference, slack)


@dataclass(frozen=True)
class _Rate:
    rate: float = 0.0
    at_ns: int = 0
    uncertain: float = 0.0
    """How far the true rate can be from the one given."""
    reach_ns: int = 0
    """The farthest message from `at_ns`."""

    def apply(self, ts: I64) -> I64:
        return Correction(rate=self.rate, at_ns=self.at_ns).apply(ts)


def _steady(messages: Messages, rates: Sequence[_Rate]) -> Messages:
    """As clocks would have shown them that all have the reference's rate."""
    return Messages(
        messages.sender, _at_rate(rates, messages.sender, messages.sent),
        messages.receiver, _at_rate(rates, messages.receiver, messages.received),
    )  # fmt: skip


def _at_rate(rates: Sequence[_Rate], clock: npt.NDArray[np.intp], ts: I64) -> I64:
    moved = ts.copy()
    for number, rate in enumerate(rates):
        if rate.rate:
            own = clock == number
            moved[own] = rate.apply(ts[own])
    return moved


def _rates(clocks: int, messages: Messages, reference: int) -> list[_Rate]:
    """Clock after clock in the order of their nearness to the reference, each against those that came before it."""
    rates = [_Rate()] * clocks
    done = np.zeros(clocks, bool)
    done[reference] = True
    sent, received = messages.sent.copy(), messages.received.copy()
    while True:
        # Next is the clock with the most messages from and to those that are done.
        to = done[messages.sender] & ~done[messages.receiver]
        back = ~done[messages.sender] & done[messages.receiver]
        count_to = np.bincount(messages.receiver[to], minlength=clocks)
        count_back = np.bincount(messages.sender[back], minlength=clocks)
        best = int(np.argmax(np.minimum(count_to, count_back) * len(messages) + count_to + count_back))
        if not count_to[best] + count_back[best]:
            return rates
        if min(count_to[best], count_back[best]) >= ENOUGH:
            low = to & (messages.receiver == best)
            high = back & (messages.sender == best)
            # At its own time x the clock has to be moved by at least, and at most, so much.
            rates[best] = _fit(
                messages.received[low], sent[low] - messages.received[low],
                messages.sent[high], received[high] - messages.sent[high],
            )  # fmt: skip
            own = messages.sender == best
            sent[own] = rates[best].apply(messages.sent[own])
            own = messages.receiver == best
            received[own] = rates[best].apply(messages.received[own])
        # Offsets are not known yet, only rates: those of clocks that are far off would bend the next fit.
        _shift(messages, sent, received, best, done)
        done[best] = True


def _shift(messages: Messages, sent: I64, received: I64, clock: int, done: npt.NDArray[np.bool_]) -> None:
    """Moves one clock's times roughly to those that are done."""
    to = done[messages.sender] & (messages.receiver == clock)
    back = (messages.sender == clock) & done[messages.receiver]
    bounds = []
    if to.any():
        bounds.append(int((sent[to] - received[to]).max()))
    if back.any():
        bounds.append(int((received[back] - sent[back]).min()))
    move = sum(bounds) // len(bounds)
    sent[messages.sender == clock] += move
    received[messages.receiver == clock] += move


def _fit(low_x: I64, low_y: I64, high_x: I64, high_y: I64) -> _Rate:
    """The steepness of the line above all low points and below all high ones that is farthest from both."""
    at = int(min(low_x.min(), high_x.min()) + max(low_x.max(), high_x.max())) // 2
    # Differences from one of the values are small, so that floats hold them exactly.
    low_u, low_v = _hull((low_x - at).astype(np.float64), (low_y[0] - low_y).astype(np.float64))
    high_u, high_v = _hull((high_x - at).astype(np.float64), (high_y - low_y[0]).astype(np.float64))
    low_v = -low_v

    def room(rate: float) -> float:
        return float((high_v - rate * high_u).min() - (low_v - rate * low_u).max())

    best = _peak(room, -MAX_RATE, MAX_RATE)
    reach = int(max(abs(low_u).max(), abs(high_u).max()))
    if not reach:
        return _Rate(at_ns=at)
    if room(best) <= 0:
        # No rate will do: the clock was set. The most likely one is better than none.
        return _Rate(best, at, MAX_RATE, reach)
    lowest = _edge(room, best, -MAX_RATE)
    highest = _edge(room, best, MAX_RATE)
    return _Rate(best, at, max(highest - best, best - lowest), reach)


def _peak(room: Callable[[float], float], low: float, high: float) -> float:
    """Where a concave function is largest."""
    for _ in range(_STEPS):
        third = (high - low) / 3
        if room(low + third) < room(high - third):
            low += third
        else:
            high -= third
    return (low + high) / 2


def _edge(room: Callable[[float], float], inside: float, outside: float) -> float:
    """Where a concave function that is positive `inside` becomes negative on the way to `outside`, rounded outward."""
    if room(outside) >= 0:
        return outside
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if room(middle) >= 0:
            inside = middle
        else:
            outside = middle
    return outside


def _hull(x: F64, y: F64) -> tuple[F64, F64]:
    """The vertices of the lower convex hull: no line from below touches another point first."""
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    keep = np.concatenate(([True], x[1:] != x[:-1]))
    x, y = x[keep], y[keep]
    # A point above the line between two others is no vertex; the few that are left go through a stack.
    while len(x) > _FEW:
        above = (y[1:-1] - y[:-2]) * (x[2:] - x[:-2]) >= (y[2:] - y[:-2]) * (x[1:-1] - x[:-2])
        if above.sum() * 50 < len(x):
            break
        keep = np.concatenate(([True], ~above, [True]))
        x, y = x[keep], y[keep]
    return _stack_hull(x, y)


def _stack_hull(x: F64, y: F64) -> tuple[F64, F64]:
    stack: list[tuple[float, float]] = []
    for u, v in zip(x.tolist(), y.tolist(), strict=True):
        while len(stack) > 1:
            (a, b), (c, d) = stack[-2:]
            if (d - b) * (u - a) < (v - b) * (c - a):
                break
            stack.pop()
        stack.append((u, v))
    points = np.array(stack)
    return points[:, 0], points[:, 1]


def _bound(distance: int, drift: float) -> float:
    return math.inf if distance > _FAR // 2 else max(distance, 0) + drift


def _limits(clocks: int, messages: Messages) -> I64:
    """Of each pair of clocks, by how much at most the first one's offset exceeds the second one's."""
    limit = np.full((clocks, clocks), _FAR, np.int64)
    # What is received at the very instant it was sent would leave the order of the two open.
    np.minimum.at(limit, (messages.sender, messages.receiver), messages.received - messages.sent - 1)
    np.fill_diagonal(limit, 0)
    return limit


def _closed(limit: I64) -> tuple[I64, int]:
    """The limits that follow from all others, and by how much each had to be loosened for them not to contradict."""
    closed = _shortest(limit)
    if not _contradicts(closed):
        return closed, 0
    # Loosened by as much as the tightest one is tight, no cycle is negative.
    low, high = 0, int(-limit.min())
    while high - low > 1:
        middle = (low + high) // 2
        if _contradicts(_shortest(_loosened(limit, middle))):
            low = middle
        else:
            high = middle
    return _shortest(_loosened(limit, high)), high


def _loosened(limit: I64, slack: int) -> I64:
    loose = np.where(limit < _FAR, limit + slack, limit)
    np.fill_diagonal(loose, 0)
    return loose


def _shortest(limit: I64) -> I64:
    """Floyd's algorithm, a row of all pairs at a time."""
    closed = limit.copy()
    for middle in range(len(closed)):
        through = closed[:, middle, None] + closed[None, middle, :]
        # A sum with "no limit" is none, however much is subtracted from it; after a contradiction numbers run away.
        through[(closed[:, middle, None] > _FAR // 2) | (closed[None, middle, :] > _FAR // 2)] = _FAR
        np.minimum(closed, through, out=closed)
        if (np.diagonal(closed) < 0).any():
            return closed
    return closed


def _contradicts(closed: I64) -> bool:
    return bool((np.diagonal(closed) < 0).any())


def _offsets(closed: I64, reference: int) -> list[int]:
    """One offset per clock, each within what the limits and those chosen before leave; limits that are closed always leave
    something."""
    chosen = {reference: 0}
    width = closed[reference] + closed[:, reference]
    for clock in np.argsort(width, kind="stable").tolist():
        if clock in chosen:
            continue
        low = max(offset - int(closed[other, clock]) for other, offset in chosen.items())
        high = min(offset + int(closed[clock, other]) for other, offset in chosen.items())
        bounded_below, bounded_above = low > -(_FAR // 2), high < _FAR // 2
        if bounded_below and bounded_above:
            chosen[clock] = (low + high) // 2
        elif bounded_below:
            chosen[clock] = max(low, 0)
        else:
            # Nothing says that the clock is wrong unless what it sent came before.
            chosen[clock] = min(high, 0) if bounded_above else 0
    return [chosen[clock] for clock in range(len(closed))]
