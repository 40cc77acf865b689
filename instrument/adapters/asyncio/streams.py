"""Causality of data in asyncio streams: the feeds of bytes to the read that takes them, matched by offsets.

Channel: "asyncio.stream". A handle has the edge that wakes a waiting reader; this edge is the data's, also if the bytes
had already arrived. Invariant: a read depends exactly on the feeds from which it took a byte, and on the end of the stream
if it saw the end.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from clew.instrument.adapters.patching import adapter_site, hook, hook_end, when_imported
from clew.instrument.propagation.traceparent import fresh_key
from clew.instrument.recorder.core import core
from clew.instrument.recorder.interned_strings import intern
from clew.records.format.event import Kind


def install() -> None:
    when_imported("asyncio.streams", _patch)


class _Fed:
    """The unread feeds of a reader, by offsets in the stream since the recording began."""

    __slots__ = ("end", "feeds", "taken", "total")

    def __init__(self, total: int) -> None:
        self.total = total
        self.taken = 0
        self.feeds: deque[tuple[int, int, int]] = deque()
        """(offset of the feed's first byte, offset of its end, key)"""
        self.end = 0
        """The key of the end of the stream; 0 before it."""


def _patch(module: Any) -> None:
    reader_class = module.StreamReader
    emit, channel = core.emit, intern("asyncio.stream")
    feed_site, read_site = adapter_site(reader_class.feed_data), adapter_site(reader_class.read)
    end_site = adapter_site(reader_class.feed_eof)

    def fed_to(reader: Any) -> _Fed:
        fed: _Fed | None = reader.__dict__.get("_clew_fed")
        if fed is None:
            fed = reader._clew_fed = _Fed(len(reader._buffer))
        return fed

    def feeding(reader: Any, data: Any) -> None:
        if len(data):
            fed, key = fed_to(reader), fresh_key()
            fed.feeds.append((fed.total, fed.total + len(data), key))
            fed.total += len(data)
            emit(Kind.SEND, feed_site, key, channel)

    def ending(reader: Any) -> None:
        if not reader._eof:
            key = fed_to(reader).end = fresh_key()
            emit(Kind.SEND, end_site, key, channel)

    def read(reader: Any, error: BaseException | None) -> None:
        fed: _Fed | None = reader.__dict__.get("_clew_fed")
        if fed is None:
            return
        before, fed.taken = fed.taken, fed.total - len(reader._buffer)
        while fed.feeds:
            start, end, key = fed.feeds[0]
            if max(start, before) >= min(end, fed.taken):
                break
            emit(Kind.JOIN, read_site, key, channel)
            if end > fed.taken:
                break
            fed.feeds.popleft()
        if fed.end and reader._eof and not reader._buffer and (error is not None or fed.taken == before):
            emit(Kind.JOIN, read_site, fed.end, channel)

    hook(reader_class.feed_data, feeding, parameters=2)
    hook(reader_class.feed_eof, ending)
    for function in (reader_class.read, reader_class.readexactly, reader_class.readuntil):
        hook_end(function, read)
