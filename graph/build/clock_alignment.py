"""Aligns the clocks of several machines by the messages between them, so that no effect comes before its cause.

A message bounds the difference of two clocks on one side, because it was sent before it was received. Messages in both
directions bound it on both sides. The estimate is the middle of the interval, which assumes that the minimum delays are equal.
Bounds are combined along every path of machines (shortest paths over difference constraints), so the clocks of three machines
agree as well. The rate of a clock is the slope of the line that is farthest from the messages of both sides (Duda et al.,
"Estimating global time in distributed systems", 1987, with convex hulls). Invariant: if any correction satisfies all messages,
the result does. Otherwise (a clock was set during the run) `Alignment.backward_ns` is the error of the worst message.
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
"""The maximum rate of a clock that network time steers."""
ENOUGH = 4
"""The number of messages in each direction that fitting a clock's rate needs."""
_STEPS = 100
"""The steps of a ternary search; each keeps two thirds of the interval."""
_FEW = 64
_FAR = 1 << 61
"""No limit, as a number: the sum of two does not overflow, and a real limit can be subtracted."""


@dataclass(frozen=True)
class Messages:
    """The columns of messages, one row each: the numbers of two clocks, and the time of each in nanoseconds."""

    sender: npt.NDArray[np.intp]
    sent: I64
    receiver: npt.NDArray[np.intp]
    received: I64

    def __len__(self) -> int:
        return len(self.sender)


@dataclass(frozen=True)
class Correction:
    """The correction to add to one clock's times: `offset_ns` at `at_ns`, and `rate` more for each nanosecond after it."""

    offset_ns: int = 0
    rate: float = 0.0
    at_ns: int = 0
    below_ns: float = 0.0
    """How far the true offset from the reference clock can be below `offset_ns`; infinite when unknown."""
    above_ns: float = 0.0
    """How far the true offset from the reference clock can be above `offset_ns`; infinite when unknown."""
    messages: int = 0
    """The number of messages that bound this clock."""

    def apply(self, ts: I64) -> I64:
        if self.rate:
            moved: I64 = ts + np.rint((ts - self.at_ns) * self.rate).astype(np.int64) + self.offset_ns
            return moved
        return ts + np.int64(self.offset_ns)


@dataclass(frozen=True)
class Alignment:
    """One correction per clock; the reference clock's is zero."""

    corrections: tuple[Correction, ...]
    reference: int = 0
    backward_ns: int = 0
    """How long the worst message still arrives before it was sent, 0 if none does."""

    @property
    def changes(self) -> bool:
        return any(correction.offset_ns or correction.rate for correction in self.corrections)


def align(clocks: int, messages: Messages, reference: int = 0) -> Alignment:
    """Return the corrections of the clocks `range(clocks)` to the reference clock.

    Raises ValueError when a message names an unknown clock.
    """
    if len(messages) and not (
        min(messages.sender.min(), messages.receiver.min()) >= 0
        and max(messages.sender.max(), messages.receiver.max()) < clocks
    ):
        raise ValueError(f"a message names a clock that is not one of the {clocks}")
    between = messages.sender != messages.receiver
    messages = Messages(
        messages.sender[between], messages.sent[between], messages.receiver[between], messages.received[between]
    )
    if not len(messages):
        return Alignment((Correction(),) * clocks, reference)
    rates = _rates(clocks, messages, reference)
    closed, slack = _closed(_limits(clocks, _steady(messages, rates)))
    if slack and any(rate.rate for rate in rates):
        # Each rate was fitted against earlier ones. Together they may contradict messages that plain offsets satisfy.
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
    """How far the true rate can be from `rate`."""
    reach_ns: int = 0
    """The distance of the farthest message from `at_ns`."""

    def apply(self, ts: I64) -> I64:
        return Correction(rate=self.rate, at_ns=self.at_ns).apply(ts)


def _steady(messages: Messages, rates: Sequence[_Rate]) -> Messages:
    """Return the messages with times as clocks with the reference's rate would show them."""
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
    """Return the rates of the clocks. Fit each against those done before it, the best-connected clock first."""
    rates = [_Rate()] * clocks
    done = np.zeros(clocks, bool)
    done[reference] = True
    sent, received = messages.sent.copy(), messages.received.copy()
    while True:
        # Next is the clock with the most messages from and to finished clocks.
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
            # The lower and upper bounds of the clock's correction, each at its own time x.
            rates[best] = _fit(
                messages.received[low], sent[low] - messages.received[low],
                messages.sent[high], received[high] - messages.sent[high],
            )  # fmt: skip
            own = messages.sender == best
            sent[own] = rates[best].apply(messages.sent[own])
            own = messages.receiver == best
            received[own] = rates[best].apply(messages.received[own])
        # Only rates are final, not offsets. Without a rough shift, a large offset would distort the next fit.
        _shift(messages, sent, received, best, done)
        done[best] = True


def _shift(messages: Messages, sent: I64, received: I64, clock: int, done: npt.NDArray[np.bool_]) -> None:
    """Shift the times of one clock roughly onto those of finished clocks."""
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
    """Fit the slope of the line above all low points and below all high points that is farthest from both."""
    at = int(min(low_x.min(), high_x.min()) + max(low_x.max(), high_x.max())) // 2
    # Differences from one of the values are small, so floats represent them exactly.
    low_u, low_v = _hull((low_x - at).astype(np.float64), (low_y[0] - low_y).astype(np.float64))
    high_u, high_v = _hull((high_x - at).astype(np.float64), (high_y - low_y[0]).astype(np.float64))
    low_v = -low_v

    def margin(rate: float) -> float:
        return float((high_v - rate * high_u).min() - (low_v - rate * low_u).max())

    best = _peak(margin, -MAX_RATE, MAX_RATE)
    reach = int(max(abs(low_u).max(), abs(high_u).max()))
    if not reach:
        return _Rate(at_ns=at)
    if margin(best) <= 0:
        # No rate satisfies all messages, because the clock was set. Use the most likely one.
        return _Rate(best, at, MAX_RATE, reach)
    lowest = _edge(margin, best, -MAX_RATE)
    highest = _edge(margin, best, MAX_RATE)
    return _Rate(best, at, max(highest - best, best - lowest), reach)


def _peak(margin: Callable[[float], float], low: float, high: float) -> float:
    """Return the argument at which a concave function is largest."""
    for _ in range(_STEPS):
        third = (high - low) / 3
        if margin(low + third) < margin(high - third):
            low += third
        else:
            high -= third
    return (low + high) / 2


def _edge(margin: Callable[[float], float], inside: float, outside: float) -> float:
    """Return where a concave function that is positive `inside` becomes negative towards `outside`, rounded outward."""
    if margin(outside) >= 0:
        return outside
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        if margin(middle) >= 0:
            inside = middle
        else:
            outside = middle
    return outside


def _hull(x: F64, y: F64) -> tuple[F64, F64]:
    """Return the vertices of the lower convex hull, left to right."""
    order = np.lexsort((y, x))
    x, y = x[order], y[order]
    keep = np.concatenate(([True], x[1:] != x[:-1]))
    x, y = x[keep], y[keep]
    # A point above the line between its neighbours is not a vertex. The stack handles the few remaining points.
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
    """Return, per pair of clocks, the maximum by which the first one's offset exceeds the second one's."""
    limit = np.full((clocks, clocks), _FAR, np.int64)
    # Minus 1: a message received at the same instant as it was sent would leave the order of the two events open.
    np.minimum.at(limit, (messages.sender, messages.receiver), messages.received - messages.sent - 1)
    np.fill_diagonal(limit, 0)
    return limit


def _closed(limit: I64) -> tuple[I64, int]:
    """Return the limits implied by all limits, and the slack that each needed so that they do not contradict each other."""
    closed = _shortest(limit)
    if not _contradicts(closed):
        return closed, 0
    # With the absolute value of the smallest limit as slack, no cycle is negative.
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
    """Return all-pairs shortest paths by Floyd's algorithm, vectorised over pairs."""
    closed = limit.copy()
    for middle in range(len(closed)):
        through = closed[:, middle, None] + closed[None, middle, :]
        # A sum with "no limit" is no limit, whatever is subtracted from it.
        through[(closed[:, middle, None] > _FAR // 2) | (closed[None, middle, :] > _FAR // 2)] = _FAR
        np.minimum(closed, through, out=closed)
        if (np.diagonal(closed) < 0).any():  # a contradiction, after which the numbers would diverge
            return closed
    return closed


def _contradicts(closed: I64) -> bool:
    return bool((np.diagonal(closed) < 0).any())


def _offsets(closed: I64, reference: int) -> list[int]:
    """Choose an offset per clock within the limits, given the offsets chosen before. Closed limits always leave an interval."""
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
            # Without a lower bound, correct the clock only if its messages would arrive before they were sent.
            chosen[clock] = min(high, 0) if bounded_above else 0
    return [chosen[clock] for clock in range(len(closed))]
