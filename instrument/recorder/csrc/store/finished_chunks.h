/* The list of finished chunks of events, oldest first: the chunks that can be dropped to keep the newest records.
 *
 * Invariant: a chunk is in the list at most once; adding, removing and finding the first chunk take constant time. A
 * thread's chunks are in the list in the order of their numbers. The list does not know what the collector has done
 * to a chunk in the meantime, so code that takes a chunk must check its state. Call with `store.lock` held. */
#ifndef CLEW_STORE_FINISHED_CHUNKS_H
#define CLEW_STORE_FINISHED_CHUNKS_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

/* Chunks are named by their number + 1 in here, so that zeros are an empty list. */
struct aging {
    struct neighbours {
        uint32_t before, after;
    } *of; /* Owned; of chunk `number`, at `number + 1` */
    uint64_t room;
    uint32_t first, last;
};
SHARED struct aging aging;

void aging_forget(void);

/* Makes room for chunks with numbers up to `count`. */
bool aging_reserve(uint64_t count);

void aging_leave(uint32_t name);

/* As the youngest. */
void aging_enter(uint32_t name);

#endif
