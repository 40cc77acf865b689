"""Finds the edges of raw bytes: each read joined to the writes whose bytes it got, by their places in the stream.

A record claims bytes of a stream, one way ("120-480", "+" before the first of a process), or says that nothing is known from
a place on ("480-"). Of the writes of one process each takes back what an earlier one claimed beyond its beginning and did not
write, also one of nothing ("300-300"). Invariant: a byte that two may have written or read has no edge, nor has any that
follows it; a stream that was read before it was written has none at all.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.records.event import Kind

I64 = npt.NDArray[np.int64]

_CLAIM = re.compile(r"(\+?)(\d{1,18})-(\d{0,18})")
_ENDLESS = 1 << 62


class _Claim(NamedTuple):
    start: int
    ts: int
    place: int
    """In the columns."""
    end: int
    process: int
    first: bool


def pair_bytes(
    kind: npt.NDArray[np.uint8],
    key: npt.NDArray[np.uint64],
    ts: I64,
    process: npt.NDArray[np.uint32],
    texts: Sequence[str],
) -> tuple[I64, I64]:
    """Places (source, target) in the columns, which are of the records that claim bytes."""
    order = np.lexsort((ts, key))
    bounds = np.flatnonzero(np.diff(key[order])) + 1
    sources: list[int] = []
    targets: list[int] = []
    for places in np.split(order, bounds):
        writes: list[_Claim] = []
        reads: list[_Claim] = []
        for place in places.tolist():
            found = _CLAIM.fullmatch(texts[place])
            if found is None:
                continue
            end = int(found[3]) if found[3] else _ENDLESS
            claim = _Claim(int(found[2]), int(ts[place]), place, end, int(process[place]), bool(found[1]))
            (writes if kind[place] == Kind.SEND else reads).append(claim)
        for write, read in _pair_stream(writes, reads):
            sources.append(write)
            targets.append(read)
    return np.array(sources, np.int64), np.array(targets, np.int64)


def _pair_stream(writes: list[_Claim], reads: list[_Claim]) -> list[tuple[int, int]]:
    if not writes or not reads:
        return []
    writes = _shortened(writes)
    reads.sort()
    known = min(_known(writes), _known(reads))
    edges: list[tuple[int, int]] = []
    at = 0
    for read in reads:
        end = min(read.end, known)
        while at < len(writes) and writes[at].end <= read.start:
            at += 1
        following = at
        while following < len(writes) and writes[following].start < end:
            write = writes[following]
            if write.ts > read.ts:
                return []
            edges.append((write.place, read.place))
            following += 1
    return edges


def _shortened(writes: list[_Claim]) -> list[_Claim]:
    """In the stream's order; what a process claimed again was not written the first time."""
    found: list[_Claim] = []
    following: dict[int, int] = {}
    for claim in sorted(writes, reverse=True):
        end = claim.end if claim.end == _ENDLESS else min(claim.end, following.get(claim.process, claim.end))
        following[claim.process] = claim.start
        if end > claim.start:
            found.append(claim._replace(end=end))
    found.reverse()
    return found


def _known(claims: list[_Claim]) -> int:
    """Up to which byte nobody else had a hand in it: `claims` of one side, in the stream's order."""
    if sum(claim.first for claim in claims) > 1:
        return 0  # another connection of the same name, or two processes from the start
    for before, after in itertools.pairwise(claims):
        if before.end == _ENDLESS or after.start < before.end:
            return before.start if before.end == _ENDLESS else after.start
    return claims[-1].start if claims and claims[-1].end == _ENDLESS else _ENDLESS
