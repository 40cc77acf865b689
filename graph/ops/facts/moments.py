"""Tell in which waits a strand is at a moment, and which waits the waits of other strands depend on.

Invariant: a wait whose end was not recorded covers a moment only if nothing shows that it ended.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from clew.graph.ops.facts.ends import Ends
from clew.graph.ops.facts.facts import Facts, Waiting


@dataclass
class _Line:
    """The waits of a strand, by time. `parent` is the wait around each one, -1 for none."""

    begins: list[int] = field(default_factory=list)
    waits: list[Waiting] = field(default_factory=list)
    until: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)


class Moments:
    """The waits of all strands by time. Use `Moments.of`, which caches them with the graph."""

    def __init__(self, facts: Facts) -> None:
        self.ends = Ends.of(facts)
        self._lines: dict[int, _Line] = {}
        for strand, waits in facts.waits_of.items():
            line = self._lines[strand] = _Line()
            stack: list[int] = []
            for place, wait in enumerate(waits):
                while stack and line.until[stack[-1]] < wait.begin.ns:
                    stack.pop()
                line.begins.append(wait.begin.ns)
                line.waits.append(wait)
                line.until.append(self.ends.until_ns(wait))
                line.parent.append(stack[-1] if stack else -1)
                stack.append(place)

    @classmethod
    def of(cls, facts: Facts) -> Moments:
        known = facts.graph.answers.get("waits by moment")
        if known is None:
            known = facts.graph.answers["waits by moment"] = cls(facts)
        moments: Moments = known
        return moments

    def at(self, strand: int, ns: int) -> Iterator[Waiting]:
        """Yield the waits that a strand is in at a time, the innermost first."""
        line = self._lines.get(strand)
        if line is None:
            return
        place = bisect_right(line.begins, ns) - 1
        while place >= 0:
            if line.until[place] >= ns:
                yield line.waits[place]
            place = line.parent[place]

    def overlapping_ns(self, strand: int, begin: int, end: int) -> tuple[int, Waiting | None]:
        """Return for how long a strand waited in a range of time, and its longest wait there. Nested waits count once."""
        line = self._lines.get(strand)
        if line is None or end <= begin:
            return 0, None
        total, longest, found = 0, 0, None
        place = bisect_right(line.begins, begin) - 1
        while place >= 0 and line.parent[place] >= 0:
            place = line.parent[place]
        place = max(place, 0)
        reached = begin
        while place < len(line.waits) and line.begins[place] < end:
            low, high = max(line.begins[place], reached), min(line.until[place], end)
            if high > low:
                total, reached = total + high - low, high
                if high - low > longest:
                    longest, found = high - low, line.waits[place]
            place += 1
        return total, found
