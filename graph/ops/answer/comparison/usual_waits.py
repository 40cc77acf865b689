"""Tell waits that usually end without success, such as those of a loop that polls with a time limit.

Such a wait is not the reason of an error. A wait is usual if others at the same line ended the same way, and most of them did
no harm: no error line and no line like the event's own followed, until the line waited again or the work around it ended.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from functools import cached_property

import numpy as np
import numpy.typing as npt

from clew.graph.model.event import ERROR
from clew.graph.ops.answer.comparison.executions import step_of
from clew.graph.ops.diagnoses.significance import outermost_call
from clew.graph.ops.facts.facts import Facts, Waiting
from clew.graph.ops.find_events import find_logs
from clew.records.format.event import Kind

LEAST = 3
"""The fewest harmless waits that make a wait usual; there must also be more than twice as many as harmful ones."""
MOST = 200
"""Of more waits at the same line, those nearest in time are considered."""
MOST_CONSIDERED = 5000
_ENDS = ("timeout", "cancelled", "failed")

Place = tuple[object, ...]


class UsualWaits:
    """The waits that did not succeed, by where they were, as a question about one event sees them."""

    def __init__(self, facts: Facts, event: int) -> None:
        self._facts, self._event = facts, event

    def has(self, wait: Waiting) -> bool:
        """Return whether a wait ended as waits at its line usually do without harm."""
        if wait.end not in _ENDS:
            return False
        around = outermost_call(self._facts, wait.begin.row)
        if around < 0:
            parent = self._facts.waiter_for(wait.strand)
            return parent is not None and self.has(parent)
        harmless, harmful, most = 0, 0, 0
        own, after = 0, False
        counts: dict[int, int] = defaultdict(int)
        for other in self._at(wait):
            if other is wait:
                continue
            call = outermost_call(self._facts, other.begin.row)
            if call < 0:
                continue
            counts[call] += 1
            harm = self._harms(other, call)
            if call != around:
                harmless, harmful = harmless + (not harm), harmful + harm
                most = max(most, 0 if harm else counts[call])
            elif not harm:
                own, after = own + 1, after or other.begin.row > self._event
        # A loop that waits again after the event goes on as usual; one that gave up after several tries does not.
        if after:
            harmless += own
        elif own + 1 > most:
            return False
        return harmless >= LEAST and harmless > 2 * harmful

    def _at(self, wait: Waiting) -> list[Waiting]:
        found = self._by_place.get(_place(wait), [])
        if len(found) <= MOST:
            return found
        return sorted(found, key=lambda other: abs(other.begin.ns - wait.begin.ns))[:MOST]

    @cached_property
    def _by_place(self) -> dict[Place, list[Waiting]]:
        """The waits without success, by time; of very many, those nearest to the event."""
        waits = self._facts.waits
        bad = waits.take(waits.ended(*_ENDS))
        if len(bad) > MOST_CONSIDERED:
            away = np.abs(bad.begin_ns - self._facts.graph.at("ts", self._event))
            bad = bad.take(np.sort(np.argpartition(away, MOST_CONSIDERED)[:MOST_CONSIDERED]))
        made: dict[Place, list[Waiting]] = defaultdict(list)
        for wait in bad:
            made[_place(wait)].append(wait)
        return dict(made)

    @cached_property
    def _begins(self) -> dict[tuple[Place, int], list[int]]:
        """The rows where the waits of each strand at each place begin, ascending."""
        made: dict[tuple[Place, int], list[int]] = defaultdict(list)
        for place, waits in self._by_place.items():
            for wait in waits:
                made[place, wait.strand].append(wait.begin.row)
        return {key: sorted(rows) for key, rows in made.items()}

    @cached_property
    def _bad_rows(self) -> npt.NDArray[np.int64]:
        """The error lines of the run and the lines like the event's own, ascending."""
        graph = self._facts.graph
        alike = graph.rows_of([graph.at("kind", self._event)])
        alike = alike[graph.site[alike] == graph.site[self._event]]
        if not graph.at("site", self._event):  # the place of the line is not known
            own = step_of(graph, self._event)
            alike = np.array([row for row in alike.tolist() if step_of(graph, row) == own], np.int64)
        return np.union1d(find_logs(graph, level=ERROR), alike)

    def _harms(self, wait: Waiting, call: int) -> bool:
        """Return whether an error followed a wait, until its line waited again or the outermost call around it ended."""
        graph = self._facts.graph
        assert wait.wake is not None
        exit_ = graph.exit_of(call)
        end = exit_ if exit_ >= 0 else graph.strand_of(wait.begin.row).stop - 1
        begins = self._begins[_place(wait), wait.strand]
        following = bisect_right(begins, wait.wake.row)
        again = begins[following] if following < len(begins) else end
        first = int(np.searchsorted(self._bad_rows, wait.wake.row))
        if first < len(self._bad_rows) and self._bad_rows[first] <= min(end, again):
            return True
        return again >= end and exit_ >= 0 and graph.at("kind", exit_) == Kind.UNWIND

    def is_usual_target(self, strand: int) -> bool:
        """Return whether the strand that waited for a task to end usually gives up like that."""
        found = self._facts.graph.strands[strand]
        waits = self._facts.waits_for_end.get((found.process, found.key), ()) if found.key else ()
        return any(self.has(wait) for wait in waits)


def _place(wait: Waiting) -> Place:
    return wait.begin.channel, wait.end, *((frame.file, frame.line) for frame in wait.begin.text.at)
