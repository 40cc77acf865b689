"""The codec in C: the streams of a chunk's data, and where a chunk's whole records end."""

from collections.abc import Sequence

def split(data: bytes | memoryview, /) -> list[bytes]:
    """Split a chunk's data into `column_streams.STREAMS` streams. Raises ValueError for more than a chunk."""

def join(streams: Sequence[bytes], /) -> bytes:
    """Inverse of `split`. Raises ValueError for streams that it never gives, or returns some data."""

def find_end(data: bytes | memoryview, kinds: bytes, /) -> tuple[int, str]:
    """See `clew.records.format.record_scan`."""
