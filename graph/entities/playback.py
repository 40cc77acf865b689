"""Sum the communications between two moments by sender and receiver, bounded for display.

Invariant: the range is the same in both directions, and everything that is not shown is counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.entities.events import I64, EntityEvents, Happening

_BATCH_EVENTS = 1 << 20


@dataclass(frozen=True)
class Lines:
    """The columns of the lines, one row per pair of sender and receiver, as indices of shown entities."""

    source: I64
    target: I64
    count: I64
    last: I64
    """The event of the last communication."""
    hidden: int
    """The number of omitted lines, which have the fewest communications."""
    unseen: int
    """The number of communications without a line: within one shown entity, or with an entity that is not shown."""


def lines(events: EntityEvents, begin: int, end: int, lifted: I64, *, shown: int, most: int) -> Lines:
    """Sum the communications from `begin` up to `end` between `shown` entities.

    `lifted` maps each entity to the shown entity that represents it, or -1. At most `most` lines are returned.
    """
    count, last = np.zeros(shown * shown, np.int64), np.full(shown * shown, -1, np.int64)
    messages = 0
    for low in range(begin, end, _BATCH_EVENTS):
        part = slice(low, min(low + _BATCH_EVENTS, end))
        places = np.flatnonzero(events.kind[part] == Happening.COMMUNICATION)
        source, target = lifted[events.first[part][places]], lifted[events.other[part][places]]
        seen = (source >= 0) & (target >= 0) & (source != target)
        pair = source[seen] * shown + target[seen]
        messages += len(places)
        count += np.bincount(pair, minlength=len(count))
        np.maximum.at(last, pair, places[seen] + low)
    pairs = np.flatnonzero(count)
    chosen = np.sort(pairs[np.lexsort((pairs, -count[pairs]))[:most]])
    return Lines(
        source=chosen // max(1, shown),
        target=chosen % max(1, shown),
        count=count[chosen],
        last=last[chosen],
        hidden=len(pairs) - len(chosen),
        unseen=messages - int(count.sum()),
    )
