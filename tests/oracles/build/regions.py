"""Reference implementation of regions with a stack in Python."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from clew.graph.build.call_nesting import Nesting
from clew.graph.build.regions import _IGNORED, I64
from clew.graph.model.array_utils import lengths
from clew.graph.model.graph import RegionKind, Regions
from clew.records.format.event import Kind

# Plain numbers: the loop below compares them a million times.
_ENTER, _PAYLOAD, _RECEIVE, _REQUEST = int(Kind.ENTER), int(Kind.PAYLOAD), int(Kind.RECEIVE), int(Kind.REQUEST)


_SCOPE_BEGIN, _SCOPE_END = int(Kind.SCOPE_BEGIN), int(Kind.SCOPE_END)


_KINDS = {
    _RECEIVE: int(RegionKind.RECEIVE),
    _SCOPE_BEGIN: int(RegionKind.SCOPE),
    _REQUEST: int(RegionKind.REQUEST),
}


@dataclass(slots=True)
class _Scope:
    region: int
    end: int
    """The last row that can belong to the scope."""
    owner: int
    """The call around the scope; -1 outside calls."""
    channels: set[int]
    """The channels of the receives that opened the scope; the next receive on any of them ends it."""
    explicit: bool
    """Whether a SCOPE_BEGIN opened the scope, so that only its SCOPE_END or the end of its call ends it."""


class CallEnds:
    """The ends and callers of calls, by the row of their ENTER."""

    def __init__(self, events: int, enter: I64, exits: I64, caller: I64) -> None:
        exit_of, caller_of = np.full(events, -1, np.int64), np.full(events, -1, np.int64)
        exit_of[enter], caller_of[enter] = exits, caller
        self._exit, self._caller = exit_of.data, caller_of.data

    def end(self, call: int, since: int, otherwise: int) -> int:
        """Return the last row of a call that is open at row `since`, or of its nearest caller that ends at or after it."""
        while call >= 0:
            row: int = self._exit[call]
            if row >= since:
                return row
            call = self._caller[call]
        return otherwise

    def runs_inside(self, call: int, outer: int) -> bool:
        """Return whether `outer` (-1: the strand) made `call`, directly or not. A call is not inside itself."""
        if call == outer:
            return False
        while call >= 0:
            call = self._caller[call]
            if call == outer:
                return True
        return False


def by_columns(
    kind: npt.NDArray[np.uint8],
    ext: npt.NDArray[np.int32],
    channel: npt.NDArray[np.uint32],
    nesting: Nesting,
    strand_start: I64,
) -> tuple[npt.NDArray[np.uint32], Regions]:
    """Return the result of `regions.split`, with one step per opening."""
    call, channel = nesting.call, np.append(channel, np.uint32(0))[ext]
    ends = CallEnds(len(kind), nesting.enter, nesting.exit, nesting.caller)
    events, strands = len(kind), len(strand_start) - 1
    is_marker = np.zeros(256, bool)
    is_marker[[*_KINDS, _SCOPE_END]] = True
    markers = np.flatnonzero(is_marker[kind])
    bounds = np.searchsorted(markers, strand_start).tolist()
    result = _Split(ends, np.ascontiguousarray(kind).data)
    starts = strand_start.tolist()
    for strand in range(strands):
        root = result.table.add(strand, int(RegionKind.ROOT), starts[strand], -1)
        if starts[strand] == starts[strand + 1]:
            continue
        result.changes.append(starts[strand])
        result.regions.append(root)
        if bounds[strand] < bounds[strand + 1]:
            rows = markers[bounds[strand] : bounds[strand + 1]]
            walk = _Walk(result, strand, root, start=starts[strand], stop=starts[strand + 1])
            walk.run(rows.tolist(), kind[rows].tolist(), channel[rows].tolist(), call[rows].tolist())
    bounds_of_changes = np.array([*result.changes, events], np.int64)
    region = np.repeat(np.array(result.regions, np.uint32), lengths(bounds_of_changes))
    return region, result.table.columns(region)


class _Split:
    """The state that the walks along all strands share: from row `changes[i]` on, events are in region `regions[i]`."""

    def __init__(self, ends: CallEnds, kind: memoryview) -> None:
        self.table = _Table()
        self.ends = ends
        self.kind = kind
        self.changes: list[int] = []
        self.regions: list[int] = []


class _Table:
    def __init__(self) -> None:
        self.strand: list[int] = []
        self.kind: list[int] = []
        self.opener: list[int] = []
        self.parent: list[int] = []

    def add(self, strand: int, kind: int, opener: int, parent: int) -> int:
        self.strand.append(strand)
        self.kind.append(kind)
        self.opener.append(opener)
        self.parent.append(parent)
        return len(self.strand) - 1

    def columns(self, region: npt.NDArray[np.uint32]) -> Regions:
        count = len(self.strand)
        first, last = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
        rows = np.arange(len(region), dtype=np.int64)
        last[region] = rows
        first[region[::-1]] = rows[::-1]
        return Regions(
            np.array(self.strand, np.uint32),
            np.array(self.kind, np.uint8),
            np.array(self.opener, np.int64),
            first,
            last,
            np.array(self.parent, np.int64),
        )


class _Walk:
    """A walk along one strand's openings and ends, with the stack of open scopes."""

    def __init__(self, split_: _Split, strand: int, root: int, *, start: int, stop: int) -> None:
        self.table, self.ends, self.kind = split_.table, split_.ends, split_.kind
        self.changes, self.regions = split_.changes, split_.regions
        self.strand, self.start, self.stop = strand, start, stop
        self.current = root
        self.root = root
        self.open: list[_Scope] = []
        self.next_end = stop
        """The smallest `end` of the open scopes."""
        self.last_opening = -1
        """Row of the latest opening event, to recognise an opening that directly follows it."""

    def run(self, rows: list[int], kinds: list[int], channels: list[int], calls: list[int]) -> None:
        place, count = 0, len(rows)
        while place < count:
            row, kind = rows[place], kinds[place]
            if self.next_end < row:
                self._expire(row)
            if kind == _SCOPE_END:
                self._end_explicit(row)
            elif (
                kind == _SCOPE_BEGIN
                and place + 1 < count
                and kinds[place + 1] == _SCOPE_END
                and calls[place] == calls[place + 1]
                and self.next_end >= rows[place + 1]
            ):
                # Most scopes contain no other opening or end.
                place += 1
                self._whole(row, rows[place], calls[place])
            else:
                self._begin(row, kind, channels[place], calls[place])
            place += 1
        if self.next_end < self.stop:
            self._expire(self.stop)

    def _opened(self) -> None:
        """Update the state after the open scopes have changed."""
        self.current = self.open[-1].region if self.open else self.root
        self.next_end = min([scope.end for scope in self.open], default=self.stop)

    def _change(self, row: int) -> None:
        """Put the events from `row` on into the current region."""
        if row >= self.stop:
            return
        if self.changes[-1] == row:
            self.regions[-1] = self.current
        elif self.regions[-1] != self.current:
            self.changes.append(row)
            self.regions.append(self.current)

    def _expire(self, row: int) -> None:
        """End the scopes whose last row is before `row`, in the order of their ends."""
        while self.next_end < row:
            end = self.next_end
            self.open = [scope for scope in self.open if scope.end > end]
            self._opened()
            self._change(end + 1)
            if not self.open:
                return

    def _end_explicit(self, row: int) -> None:
        for place in range(len(self.open) - 1, -1, -1):
            if self.open[place].explicit:
                # The end itself belongs to the scope, so it ends the scopes opened inside.
                del self.open[place + 1 :]
                self.open[place].end = row
                self._opened()
                self._change(row)
                return

    def _whole(self, row: int, end: int, call: int) -> None:
        """Add a scope from its SCOPE_BEGIN to its SCOPE_END."""
        around = self.current
        before = self._before(row)
        self.current = self.table.add(self.strand, _KINDS[_SCOPE_BEGIN], row, around)
        self._change(before if self._enters(before, call) else row)
        self.current = around
        self._change(end + 1)

    def _begin(self, row: int, kind: int, channel: int, call: int) -> None:
        before = self._before(row)
        if self._joins_last(before, kind, call):
            scope = self.open[-1]
            scope.channels.add(channel)
            if kind == _REQUEST:
                self.table.kind[scope.region] = _KINDS[_REQUEST]
            self.last_opening = row
            return
        start = before if self._enters(before, call) else row
        if kind == _RECEIVE:
            self._end_same_channel(channel, call)
        region = self.table.add(self.strand, _KINDS[kind], row, self.current)
        end = self.ends.end(call, row, self.stop - 1)
        self.open.append(_Scope(region, end, call, {channel} if kind == _RECEIVE else set(), kind == _SCOPE_BEGIN))
        self.current = region
        self.next_end = min(self.next_end, end)
        self._change(start)
        self.last_opening = row

    def _enters(self, before: int, call: int) -> bool:
        """Return whether the row before an opening is the ENTER of the call around it."""
        return before >= 0 and before == call and self.kind[before] == _ENTER

    def _before(self, row: int) -> int:
        """Return the last relevant row before `row`; -1 at the beginning of the strand."""
        row -= 1
        while row >= self.start and self.kind[row] in _IGNORED:
            row -= 1
        return row if row >= self.start else -1

    def _joins_last(self, before: int, kind: int, call: int) -> bool:
        """Return whether an opening that directly follows another shares its scope. A SCOPE_BEGIN never does."""
        return (
            kind != _SCOPE_BEGIN
            and before >= 0
            and before == self.last_opening
            and bool(self.open)
            and self.open[-1].owner == call
        )

    def _end_same_channel(self, channel: int, call: int) -> None:
        for place in range(len(self.open) - 1, -1, -1):
            scope = self.open[place]
            if scope.explicit:
                return
            if channel in scope.channels:
                if not self.ends.runs_inside(call, scope.owner):
                    del self.open[place:]
                    self._opened()
                return
