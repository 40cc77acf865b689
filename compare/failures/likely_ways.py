"""Ways from a wrong value back to the likeliest of the lines that it was made by: what its explanation should show."""

from __future__ import annotations

from collections.abc import Iterable

from clew.compare.failures.look_evidence import LookEvidence
from clew.compare.failures.ranking import SuspectLine
from clew.graph.values.slice_distance import SliceDistances

MOST = 5
SHARE = 0.5
"""A line counts as likely if its score is at least this share of the highest one."""


def likely_ways(lines: Iterable[SuspectLine], look: LookEvidence, distances: SliceDistances) -> list[tuple[int, ...]]:
    """Return the ways to likely lines, the likeliest first: nodes from the value back to the line.

    Without passing tests to compare with, no line is likelier than another, and there are none.
    """
    if not look.passing:
        return []
    highest = max((one.score for of_function in look.lines.values() for one in of_function.values()), default=0.0)
    likely = (one for one in lines if one.counts.score >= SHARE * highest)
    ways = (distances.way_to(one.function.file, one.line) for one in likely)
    return [way for way in ways if way][:MOST]
