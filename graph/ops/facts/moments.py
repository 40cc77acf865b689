"""Tell in which waits a strand is at a moment, and which waits the waits of other strands depend on.

Invariant: a wait whose end was not recorded covers a moment only if nothing shows that it ended.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

from clew.graph.model.cached import cached
from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Waiting, Waits


@dataclass
class _Line:
    """The waits of a strand, by time. `parent` is the wait around each one, -1 for none."""

    waits: Waits
    begins: list[int]
    until: list[int]
    parent: list[int]


class Moments:
    """The waits of all strands by time. Use `Moments.of`, which caches them with the graph."""

    def __init__(self, facts: Facts) -> None:
        self.ends = Ends.of(facts)
        self._facts = facts
        self._lines: dict[int, _Line] = {}

    def _line(self, strand: int) -> _Line | None:
        """Return the waits of a strand, None if it has none."""
        line = self._lines.get(strand)
        if line is None:
            waits = self._facts.waits_of.of(strand)
            if not len(waits):
                return None
            begins, until = waits.begin_ns.tolist(), self.ends.until_of(waits).tolist()
            parent = []
            stack: list[int] = []
            for place, begin in enumerate(begins):
                while stack and until[stack[-1]] < begin:
                    stack.pop()
                parent.append(stack[-1] if stack else -1)
                stack.append(place)
            line = self._lines[strand] = _Line(waits, begins, until, parent)
        return line

    @classmethod
    def of(cls, facts: Facts) -> Moments:
        return cached(facts.graph, "waits by moment", lambda: cls(facts))

    def at(self, strand: int, ns: int) -> Iterator[Waiting]:
        """Yield the waits that a strand is in at a time, the innermost first."""
        line = self._line(strand)
        if line is None:
            return
        place = bisect_right(line.begins, ns) - 1
        while place >= 0:
            if line.until[place] >= ns:
                yield line.waits[place]
            place = line.parent[place]

    def overlapping_ns(self, strand: int, begin: int, end: int) -> tuple[int, Waiting | None]:
        """Return for how long a strand waited in a range of time, and its longest wait there. Nested waits count once."""
        line = self._line(strand)
        if line is None or end <= begin:
            return 0, None
        total, longest, found = 0, 0, -1
        place = bisect_right(line.begins, begin) - 1
        while place >= 0 and line.parent[place] >= 0:
            place = line.parent[place]
        place = max(place, 0)
        reached = begin
        while place < len(line.begins) and line.begins[place] < end:
            low, high = max(line.begins[place], reached), min(line.until[place], end)
            if high > low:
                total, reached = total + high - low, high
                if high - low > longest:
                    longest, found = high - low, place
            place += 1
        return total, line.waits[found] if found >= 0 else None
