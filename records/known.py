"""What a reader found in a process's packed chunks, so that the next one need not look into them again.

Invariant: a chunk is known by its identity and the checksum of its frame, so what is known of it is what is in it.
"""

from collections.abc import Mapping

from clew.records.chunks import Chunk
from clew.records.found import Definitions
from clew.records.tuples import NamedTuple


class Known(NamedTuple):
    """Of one process."""

    ends: Mapping[bytes, tuple[int, int]] = {}
    """By the identity of a chunk of events its frame's checksum, and where its records end."""
    definitions: Definitions | None = None

    def end_of(self, chunk: Chunk) -> int:
        """0 when it is not known."""
        frame, end = self.ends.get(chunk.identity, (0, 0))
        return end if frame and frame == chunk.frame else 0
