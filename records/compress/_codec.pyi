"""The codec in C: split a chunk's data into streams and join them, and find the end of its complete records."""

from collections.abc import Sequence

def split(data: bytes | memoryview, /) -> list[bytes]:
    """Split a chunk's data into `stream_layout.STREAMS` streams. Raise `ValueError` if it is longer than a chunk."""

def join(streams: Sequence[bytes], /) -> bytes:
    """Invert `split`. For streams that `split` never returns, raise `ValueError` or return arbitrary data."""

def find_end(data: bytes | memoryview, kinds: bytes, /) -> tuple[int, str]:
    """Find the end of the complete records; see `clew.records.format.record_scan`."""
