"""Match sends with receives in a live run, by the rules of `graph/build/edge_matching.py` and `byte_stream_edges.py`.

Invariant: at most `MOST_SENDS` keys and `MOST_STREAMS` streams are remembered; the oldest are forgotten first.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

from clew.graph.entities.events import Happening
from clew.graph.entities.live.state import Row
from clew.records.format.event import Kind

MOST_SENDS = 1 << 16
MOST_STREAMS = 1 << 12
_MOST_CLAIMS = 32
"""The maximum number of unread writes of a stream that are remembered."""
_CLAIM = re.compile(r"\+?(\d{1,18})-(\d{1,18})$")

_Send = tuple[int, int, int]
"""Process, strand, and whether another process has received it."""


class Messages:
    """The pending sends and stream writes."""

    def __init__(self) -> None:
        self._sends: OrderedDict[int, list[_Send]] = OrderedDict()
        """The last send of each process by key, the latest at the end."""
        self._streams: OrderedDict[int, list[tuple[int, int, int]]] = OrderedDict()
        """The unread writes of each stream: first byte, end, and the strand that wrote them."""
        self._changed: dict[int, None] = {}

    def communications(self, events: Iterable[tuple[int, ...]], texts: list[str]) -> list[Row]:
        """Return the communications of sends and receives, given in time order.

        An event is: time, kind, strand, channel, site, index in `texts` if it concerns bytes (else -1), process, key.
        """
        rows: list[Row] = []
        communication = int(Happening.COMMUNICATION)
        for ns, kind, strand, channel, site, text, process, key in events:
            if text >= 0:
                sources = self._bytes(kind, strand, key, texts[text])
            elif kind == Kind.SEND:
                self._send(key, process, strand)
                continue
            else:
                sources = self._received(key, process)
            rows += [(ns, source, strand, channel, site, communication) for source in sources if source != strand]
        return rows

    def _send(self, key: int, process: int, strand: int) -> None:
        others = self._sends.pop(key, None)
        others = [one for one in others if one[0] != process] if others else []
        self._sends[key] = [*others, (process, strand, 0)]
        self._changed[key] = None
        if len(self._sends) > MOST_SENDS:
            self._sends.popitem(last=False)

    def _received(self, key: int, process: int) -> Iterable[int]:
        sends = self._sends.get(key)
        if not sends:
            return ()
        place = len(sends) - 1
        for number, (of, _, handed) in enumerate(sends):
            if of == process and not handed:
                place = number
        of, strand, handed = sends[place]
        if of != process and not handed:
            sends[place] = (of, strand, 1)
            self._changed[key] = None
        return (strand,)

    def _bytes(self, kind: int, strand: int, key: int, text: str) -> Iterable[int]:
        claim = _CLAIM.match(text)
        if claim is None:
            return ()
        begin, end = int(claim[1]), int(claim[2])
        written = self._streams.setdefault(key, [])
        self._changed[key] = None
        if kind == Kind.SEND:
            # Bytes that an earlier write claimed beyond the beginning of this write were not written.
            written[:] = [(low, min(high, begin), writer) for low, high, writer in written if low < begin]
            written.append((begin, end, strand))
            del written[:-_MOST_CLAIMS]
            if len(self._streams) > MOST_STREAMS:
                self._streams.popitem(last=False)
            return ()
        found = [writer for low, high, writer in written if low < end and high > begin]
        written[:] = [one for one in written if one[1] > end]
        return dict.fromkeys(found)

    def changes(self) -> dict[str, Any]:
        """Return the changes since the last call, for `put`."""
        changed, self._changed = self._changed, {}
        return {
            "sends": [(key, self._sends[key]) for key in changed if key in self._sends],
            "streams": [(key, self._streams[key]) for key in changed if key in self._streams],
        }

    def all(self) -> dict[str, Any]:
        return {"sends": list(self._sends.items()), "streams": list(self._streams.items())}

    def put(self, changes: dict[str, Any]) -> None:
        for name, most in (("sends", MOST_SENDS), ("streams", MOST_STREAMS)):
            known = getattr(self, f"_{name}")
            for key, values in changes.get(name, ()):
                known.pop(key, None)
                known[key] = [tuple(value) for value in values]
            while len(known) > most:
                known.popitem(last=False)
