"""What speaks against a place, one piece at a time, on one scale: bits.

Bits of time are doublings (a place that takes eight times what it took has three), bits of behaviour are surprise (what one
visit in eight did before and each does now has three); both are of a request that visits the place, and both are weighted by
how sure it is that anything changed at all. Invariant: a piece says what it is about, before and after, of how many requests.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from clew.compare.statistics import F64
from clew.graph.ops.diff import duration

Subject = Literal["method", "edge", "instance", "log"]
"""What evidence is of."""
SHOWN = 120
"""Characters of a message."""
Kind = Literal["work", "waiting", "edge", "instance", "call", "error", "log"]


@dataclass(frozen=True)
class Evidence:
    kind: Kind
    bits: float
    """Of a place's bits, those that this piece is the reason for."""
    service: str
    method: str
    """The function or operation; of an edge the one that is called."""
    caller: str
    """Of the method; "" at a root."""
    instance: str
    """"" unless the evidence is of one instance."""
    text: str
    """Of a log its template, of a call the label that is new or missing."""
    before: float | None
    """Time in ns per request that has it, or the share of visits that do so; None where nothing is known."""
    after: float | None
    samples_before: int
    """Requests."""
    samples_after: int
    p: float | None
    """How likely the two sides are alike; corrected for the number of pieces."""
    call: int
    """An example: a call of the suspect requests, by its place in the columns; -1 for none."""

    def sentence(self) -> str:
        of = f" (of {self.samples_before:,} and {self.samples_after:,} requests)"
        if self.kind in ("work", "waiting", "edge", "instance"):
            before = "" if self.before is None else f"{duration(self.before)} -> "
            return f"{self._what()} {before}{duration(self.after or 0.0)}{of}"
        return f"{self._what()} in {_share(self.before)} -> {_share(self.after)} of visits{of}"

    def _what(self) -> str:
        if self.kind == "work":
            return f"{self.method} itself takes"
        if self.kind == "waiting":
            return f"{self.method} waits, for nothing that was recorded,"
        if self.kind == "edge":
            return f"the way from {self.caller} to {self.method} takes"
        if self.kind == "instance":
            return f"instance {self.instance} takes, beside its like,"
        if self.kind == "error":
            return f"{self.method} fails" if not self.text else f"{self.method}: {self.text}"
        return (
            f"{self.method} logs {_within(self.text)!r}" if self.kind == "log" else f"{self.method} calls {self.text}"
        )


def _within(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= SHOWN else f"{line[: SHOWN // 2]} … {line[-SHOWN // 2 :]}"


def _share(value: float | None) -> str:
    return "?" if value is None else f"{value:.0%}"


def weight(bits: F64 | float, half: float) -> F64:
    """How far to trust a difference that a test gives so many bits: none at 0, one half at `half`, all beyond."""
    sure = np.maximum(np.asarray(bits, np.float64), 0.0)
    sure = np.minimum(np.nan_to_num(sure), 1e9)
    return np.asarray(sure / (sure + half))


def relative_entropy(after: F64, before: F64) -> F64:
    """Bits, of shares: how ill `before` foretells `after`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = [np.where(p > 0, p * np.log2(p / q), 0.0) for p, q in ((after, before), (1 - after, 1 - before))]
    return np.asarray(parts[0] + parts[1])


def shares_differ(share_before: F64, n: F64, share_after: F64, m: F64) -> F64:
    """Bits: the likelihood ratio (G) of two shares being two, not one."""
    with np.errstate(divide="ignore", invalid="ignore"):
        both = np.where(n + m > 0, (n * share_before + m * share_after) / (n + m), 0.0)
        bits = n * relative_entropy(share_before, both) + m * relative_entropy(share_after, both)
    return np.nan_to_num(bits)


def share_is_new(before: tuple[F64, F64], after: tuple[F64, F64], *, expected: F64, trust: F64) -> F64:
    """Bits: how much better so many out of so many `after` are explained by a share of their own, about which nothing is known,
    than by the share `before`, which without its observations would be `expected`, as sure as of `trust` of them.

    The Bayes factor of two beta-binomial models. Where something is known to be always or never so, a few observations do,
    of which a test of two samples makes nothing."""
    from scipy.special import betaln

    (k, n), (found, m) = (np.minimum(before[0], before[1]), before[1]), (np.minimum(after[0], after[1]), after[1])
    yes, no = trust * expected + k, trust * (1 - expected) + n - k
    same = betaln(yes + found, no + m - found) - betaln(yes, no)
    other = betaln(0.5 + found, 0.5 + m - found) - betaln(0.5, 0.5)
    return np.asarray((other - same) / np.log(2))
