/* Ownership of the chunks of the trace file: allocated, taken back from the collector, handed over, dropped.
 *
 * Recycling. The collector (records/collector/main.py, another process) compresses finished chunks into its own
 * files, zeroes them and returns them through a ring in the header page. The ring has one producer, the collector,
 * and one consumer, the recorder, so two counters are sufficient; each counter has a single writer. The state of a
 * chunk defines its owner, and only the owner writes to the chunk:
 *   - the recorder stores FINISHED with release, after the chunk's last record: a reader that sees FINISHED sees all
 *     records;
 *   - the collector stores FREE after the zeros, then the ring's head: a reader that loads the head with acquire
 *     sees the chunk free and zero, and its pages are already mapped, so taking the chunk causes no page fault;
 *   - the recorder stores IN_USE with release after the rest of the new header, and only then the ring's tail: so a
 *     free chunk that is not between tail and head is one whose return was interrupted by the collector's death,
 *     never one just taken.
 *
 * The recorder never trusts data written by the collector: it skips a number beyond the file or a chunk that is not
 * free. Without a collector the ring stays empty and the file grows.
 *
 * Dropping. If the newest records are to be kept, the quota is used up and no chunk has been returned, the recorder
 * takes its own oldest finished chunk. At that time the collector owns the chunk. So both first take the kernel's
 * lock on the chunk's header, and check the state again under the lock. The recorder never waits for the lock: it
 * skips locked chunks. So a collector that is stopped in the middle of a chunk blocks only this chunk, and killing
 * the collector releases the lock. A dropped chunk is counted in the header page and marked as dropped, in this
 * order, before its first byte changes, so a concurrent reader sees the count or the mark. */
#ifndef CLEW_STORE_CHUNKS_H
#define CLEW_STORE_CHUNKS_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"
#include "trace_format.h"

/* A new chunk, its header complete, or NULL when recording had to stop. `segment` is handed to `chunk_release` later.
 * `*fresh` says that its pages are not there yet. */
char *chunk_claim(enum chunk_kind kind, const struct thread *thread, uint32_t number, uint32_t *segment, bool *fresh);

/* Gives a chunk to the collector, because it is full or its thread has ended. Unmaps a segment that no thread writes to,
 * so that memory use stays flat, unless its chunks are likely to come back. Call with the lock held. */
void chunk_release(char *chunk, uint32_t index);

#endif
