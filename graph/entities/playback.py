"""What happened between two moments, as a screen can show it: communications summed by sender and receiver.

Invariant: from one moment to another and back is the same range, and what is not shown is counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clew.graph.entities.events import I64, EntityEvents, Happening

_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Lines:
    """Columns, one row per sender and receiver: places among the entities that are shown."""

    source: I64
    target: I64
    count: I64
    last: I64
    """The last communication."""
    hidden: int
    """Lines that there are besides, with the fewest communications."""
    unseen: int
    """Communications of no line at all: within what is shown as one, or with an entity that is nowhere."""


def lines(events: EntityEvents, begin: int, end: int, lifted: I64, *, shown: int, most: int) -> Lines:
    """Of the events from `begin` up to `end`, between `shown` entities; `lifted` says as which of them each is shown (-1: as
    none)."""
    count, last = np.zeros(shown * shown, np.int64), np.full(shown * shown, -1, np.int64)
    talks = 0
    for low in range(begin, end, _AT_ONCE):
        part = slice(low, min(low + _AT_ONCE, end))
        places = np.flatnonzero(events.kind[part] == Happening.COMMUNICATION)
        source, target = lifted[events.first[part][places]], lifted[events.other[part][places]]
        seen = (source >= 0) & (target >= 0) & (source != target)
        pair = source[seen] * shown + target[seen]
        talks += len(places)
        count += np.bincount(pair, minlength=len(count))
        np.maximum.at(last, pair, places[seen] + low)
    pairs = np.flatnonzero(count)
    kept = np.sort(pairs[np.lexsort((pairs, -count[pairs]))[:most]])
    return Lines(
        source=kept // max(1, shown),
        target=kept % max(1, shown),
        count=count[kept],
        last=last[kept],
        hidden=len(pairs) - len(kept),
        unseen=talks - int(count.sum()),
    )
