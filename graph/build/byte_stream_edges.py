"""Matches edges of byte streams: each read with the writes of its bytes, by their offsets in the stream.

A record's text is a claim or a mark about one direction of a stream:
- "120-480" claims these bytes; the first claim of a process has a "+" in front;
- "480-" means that the process knows nothing from that offset on;
- "=480" means that the process takes over from that offset on, which the process before it does not know. "~480" is the same,
  but needs proof that the counts of both sides agree;
- "480$" means that the stream ends there: a read saw it, or a call closed the writing end. Only what a read saw is a proof.
Each write of a process withdraws what its earlier writes claimed after the write's beginning, even if the write is empty
("300-300"). Invariant: a byte that two processes may have written or read has no edge, and neither has any byte after it.
A stream that was read before it was written has no edges.
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
    """The index in the columns."""
    end: int
    process: int
    first: bool


class _Taken(NamedTuple):
    """The marks of a stream."""

    writes: list[int]
    """The offsets from which a process took over writing."""
    reads: list[int]
    """The offsets from which a process took over reading."""
    ends: list[int]
    """The offsets at which the stream ended."""
    doubted: bool
    """Whether a takeover needs proof that the counts of both sides agree."""


def pair_bytes(
    kind: npt.NDArray[np.uint8],
    key: npt.NDArray[np.uint64],
    ts: I64,
    process: npt.NDArray[np.uint32],
    texts: Sequence[str],
) -> tuple[I64, I64]:
    """Return the indices of the source and the target of each edge. The columns are of the records that claim bytes."""
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
        if not writes:
            taken.ends.append(int(found[2]))
        return taken
    (taken.writes if writes else taken.reads).append(int(found[2]))
    return taken._replace(doubted=taken.doubted or found[1] == "~")


def _taken_over(claims: list[_Claim], places: list[int]) -> list[_Claim]:
    """Close the open claims where exactly one process stopped knowing the stream and exactly one took it over."""
    given = Counter(claim.start for claim in claims if claim.end == _ENDLESS)
    known = {place for place, count in Counter(places).items() if count == given[place] == 1}
    # Keep the empty claim: it still withdraws earlier claims after its start.
    return [
        claim._replace(end=claim.start) if claim.end == _ENDLESS and claim.start in known else claim for claim in claims
    ]


def _proved(writes: list[_Claim], reads: list[_Claim], taken: _Taken) -> bool:
    """Return whether the counts of both sides show that every write to a stream that was taken over was recorded."""
    if _known(writes) != _ENDLESS:
        return False  # later writes may hide an unrecorded one
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
    """Return the writes in the stream's order. A process did not write the bytes that it claimed again later."""
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
    """Return the offset up to which each byte belongs to one claim. `claims` are of one side, in the stream's order."""
    if sum(claim.first for claim in claims) > 1:
        return 0  # two connections with the same name, or two processes from the start
    for before, after in itertools.pairwise(claims):
        if before.end == _ENDLESS or after.start < before.end:
            return before.start if before.end == _ENDLESS else after.start
    return claims[-1].start if claims and claims[-1].end == _ENDLESS else _ENDLESS
