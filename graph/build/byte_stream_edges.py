"""Finds the edges of raw bytes: each read joined to the writes whose bytes it got, by their places in the stream.

A record claims bytes of a stream, one way ("120-480", "+" before the first of a process), says that nothing is known from
a place on ("480-") or that its process knows what another does not from there on ("=480", or "~480" where that needs the
proof that the counts of both sides agree), or that the stream ends ("480$"). Of the writes of one process each takes back
what an earlier one claimed beyond its beginning and did not write, also one of nothing ("300-300"). Invariant: a byte that
two may have written or read has no edge, nor has any that follows it; a stream that was read before it was written has none
at all.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from clew.records.format.event import Kind

I64 = npt.NDArray[np.int64]

_CLAIM = re.compile(r"(\+?)(\d{1,18})-(\d{0,18})")
_MARK = re.compile(r"([=~]?)(\d{1,18})(\$?)")
_ENDLESS = 1 << 62


class _Claim(NamedTuple):
    start: int
    ts: int
    place: int
    """In the columns."""
    end: int
    process: int
    first: bool


class _Taken(NamedTuple):
    """What the marks of a stream say."""

    writes: list[int]
    """From where on somebody took it over, on either side."""
    reads: list[int]
    ends: list[int]
    """Where it was seen to end."""
    doubted: bool


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
        taken = _Taken([], [], [], False)
        for place in places.tolist():
            found = _CLAIM.fullmatch(texts[place])
            if found is None:
                taken = _marked(taken, kind[place] == Kind.SEND, texts[place])
                continue
            end = int(found[3]) if found[3] else _ENDLESS
            claim = _Claim(int(found[2]), int(ts[place]), place, end, int(process[place]), bool(found[1]))
            (writes if kind[place] == Kind.SEND else reads).append(claim)
        for write, read in _pair_stream(_taken_over(writes, taken.writes), _taken_over(reads, taken.reads), taken):
            sources.append(write)
            targets.append(read)
    return np.array(sources, np.int64), np.array(targets, np.int64)


def _marked(taken: _Taken, writes: bool, text: str) -> _Taken:
    found = _MARK.fullmatch(text)
    if found is None or bool(found[1]) == bool(found[3]):
        return taken
    if found[3]:
        taken.ends.append(int(found[2]))
        return taken
    (taken.writes if writes else taken.reads).append(int(found[2]))
    return taken._replace(doubted=taken.doubted or found[1] == "~")


def _taken_over(claims: list[_Claim], places: list[int]) -> list[_Claim]:
    """What one process gave up is known when exactly one other took it over there."""
    given = Counter(claim.start for claim in claims if claim.end == _ENDLESS)
    known = {place for place, count in Counter(places).items() if count == given[place] == 1}
    # What it claimed beyond that is taken back all the same.
    return [
        claim._replace(end=claim.start) if claim.end == _ENDLESS and claim.start in known else claim for claim in claims
    ]


def _proved(writes: list[_Claim], reads: list[_Claim], taken: _Taken) -> bool:
    """Has nobody who counts nothing written to a stream that was taken over, as far as can be told?"""
    if _known(writes) != _ENDLESS:
        return False  # what came later may have hidden it
    written = writes[-1].end
    read = max((claim.end for claim in reads if claim.end != _ENDLESS), default=0)
    return read == written if read in taken.ends else read <= written and not taken.doubted


def _pair_stream(writes: list[_Claim], reads: list[_Claim], taken: _Taken) -> list[tuple[int, int]]:
    writes = _shortened(writes)
    reads = sorted(claim for claim in reads if claim.end > claim.start)
    if not writes or not reads:
        return []
    known = min(_known(writes), _known(reads))
    if (taken.writes or taken.reads) and not _proved(writes, reads, taken):
        known = min(known, *taken.writes, *taken.reads)
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
