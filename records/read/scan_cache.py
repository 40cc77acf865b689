"""Cache the scan results of a process's compressed chunks, so that the next reader can skip the scan.

Invariant: a cached result is identified by the chunk's identity and the checksum of its block, so it always matches the
contents.
"""

from collections.abc import Mapping

from clew.records.fast_namedtuple import NamedTuple
from clew.records.read.process_records import Definitions
from clew.records.read.trace_chunks import Chunk


class Known(NamedTuple):
    """The cached results of one process."""

    ends: Mapping[bytes, tuple[int, int]] = {}
    """Checksum of the block and end of the records, by the identity of a chunk of events."""
    definitions: Definitions | None = None

    def end_of(self, chunk: Chunk) -> int:
        """Return the end of the records in a chunk, or 0 if it is not cached."""
        block_crc, end = self.ends.get(chunk.identity, (0, 0))
        return end if block_crc and block_crc == chunk.block_crc else 0
