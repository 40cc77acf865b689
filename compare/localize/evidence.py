"""Define the evidence against a place, item by item, on one scale: bits.

Bits of time are doublings: a place that takes eight times as long as before has three bits. Bits of behaviour are
surprise: a behaviour of one visit in eight before and of every visit now has three bits. Both refer to one request that
visits the place. Both are weighted by the certainty that anything changed at all. Invariant: every item names its subject,
the values before and after, and the number of requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from clew.compare.stats.tests import F64
from clew.graph.ops.diff import duration

Subject = Literal["method", "edge", "instance", "log"]
"""The subject of an item of evidence."""
SHOWN = 120
"""Maximum number of characters of a message."""
Kind = Literal["work", "waiting", "edge", "instance", "call", "error", "log"]


@dataclass(frozen=True)
class Evidence:
    """One item of evidence against a place."""

    kind: Kind
    bits: float
    """The share of the place's bits that this item contributes."""
    service: str
    method: str
    """The function or operation; for an edge, the callee."""
    caller: str
    """The caller of the method; "" at a root."""
    instance: str
    """"" unless the evidence concerns one instance."""
    text: str
    """For a log, its template; for a call, the label that is new or missing; for waiting, what the example waits for."""
    before: float | None
    """Time in ns per request that has it, or the share of visits that show the behaviour; None if unknown."""
    after: float | None
    samples_before: int
    """Number of requests."""
    samples_after: int
    p: float | None
    """The probability that the two sides are alike, corrected for the number of items."""
    call: int
    """An example: the index of a call of the suspect requests in the columns; -1 if there is no example."""

    def sentence(self) -> str:
        of = f" (of {self.samples_before:,} and {self.samples_after:,} requests)"
        if self.kind in ("work", "waiting", "edge", "instance"):
            before = "" if self.before is None else f"{duration(self.before)} -> "
            return f"{self._subject()} {before}{duration(self.after or 0.0)}{of}"
        return f"{self._subject()} in {_share(self.before)} -> {_share(self.after)} of visits{of}"

    def _subject(self) -> str:
        if self.kind == "work":
            return f"{self.method} itself takes"
        if self.kind == "waiting":
            return (
                f"waiting for {self.text} in {self.method}:" if self.text else f"unrecorded waiting in {self.method}:"
            )
        if self.kind == "edge":
            return f"the hop from {self.caller} to {self.method} takes"
        if self.kind == "instance":
            return f"instance {self.instance}, compared with its peers, takes"
        if self.kind == "error":
            return f"{self.method} fails" if not self.text else f"{self.method}: {_shortened(self.text)}"
        return (
            f"{self.method} logs {_shortened(self.text)!r}"
            if self.kind == "log"
            else f"{self.method} calls {self.text}"
        )


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN // 2]} … {line[-SHOWN // 2 :]}"


def _share(value: float | None) -> str:
    return "?" if value is None else f"{value:.0%}"


def weight(bits: F64 | float, half: float) -> F64:
    """Return the trust in a difference to which a test gives `bits`: 0 at 0 bits, one half at `half`, towards 1 beyond."""
    sure = np.maximum(np.asarray(bits, np.float64), 0.0)
    sure = np.minimum(np.nan_to_num(sure), 1e9)
    return np.asarray(sure / (sure + half))


def relative_entropy(after: F64, before: F64) -> F64:
    """Return the relative entropy of two shares in bits: how badly `before` predicts `after`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(p > 0, p * np.log2(p / q), 0.0) for p, q in ((after, before), (1 - after, 1 - before))]
    return np.asarray(parts[0] + parts[1])


def shares_differ(share_before: F64, n: F64, share_after: F64, m: F64) -> F64:
    """Return the likelihood ratio (G), in bits, of two different shares against one common share."""
    with np.errstate(divide="ignore", invalid="ignore"):
        both = np.where(n + m > 0, (n * share_before + m * share_after) / (n + m), 0.0)
        bits = n * relative_entropy(share_before, both) + m * relative_entropy(share_after, both)
    return np.nan_to_num(bits)


def share_is_new(before: tuple[F64, F64], after: tuple[F64, F64], *, expected: F64, trust: F64) -> F64:
    """Return, in bits, how much better a separate, unknown share explains the counts `after` than the share `before`.

    Without observations the share `before` would be `expected`, with the certainty of `trust` observations. This is the Bayes
    factor of two beta-binomial models. For a behaviour that is known to occur always or never, a few observations are enough
    evidence, although a two-sample test would not reject."""
    from scipy.special import betaln

    (k, n), (found, m) = (np.minimum(before[0], before[1]), before[1]), (np.minimum(after[0], after[1]), after[1])
    yes, no = trust * expected + k, trust * (1 - expected) + n - k
    same = betaln(yes + found, no + m - found) - betaln(yes, no)
    other = betaln(0.5 + found, 0.5 + m - found) - betaln(0.5, 0.5)
    return np.asarray((other - same) / np.log(2))
