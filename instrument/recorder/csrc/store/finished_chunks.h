/* The list of finished chunks of events, oldest first: the chunks that can be dropped to keep the newest records.
 *
 * Invariant: a chunk is in the list at most once; adding, removing and finding the first chunk take constant time. A
 * thread's chunks are in the list in the order of their numbers. The list does not know what the collector has done
 * to a chunk in the meantime, so code that takes a chunk must check its state. Call with `store.lock` held. */

#ifndef CLEW_STORE_FINISHED_CHUNKS_H
#define CLEW_STORE_FINISHED_CHUNKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NO_CHUNK 0u

/* Chunks are named by their number + 1 in here, so that zeros are an empty list. */
static struct {
    struct neighbours {
        uint32_t before, after;
    } *of; /* Owned; of chunk `number`, at `number + 1` */
    uint64_t room;
    uint32_t first, last;
} aging;

static void aging_forget(void) {
    if (aging.room) memset(aging.of, 0, aging.room * sizeof *aging.of);
    aging.first = aging.last = NO_CHUNK;
}

/* Makes room for chunks with numbers up to `count`. */
static bool aging_reserve(uint64_t count) {
    if (count < aging.room) return true;
    uint64_t room = 2 * count + 2;
    struct neighbours *larger = room < UINT32_MAX ? realloc(aging.of, room * sizeof *larger) : NULL;
    if (!larger) return false;
    memset(larger + aging.room, 0, (room - aging.room) * sizeof *larger);
    aging.of = larger;
    aging.room = room;
    return true;
}

static void aging_leave(uint32_t name) {
    if (name >= aging.room || (aging.first != name && !aging.of[name].before)) return;
    struct neighbours *own = &aging.of[name];
    *(own->before ? &aging.of[own->before].after : &aging.first) = own->after;
    *(own->after ? &aging.of[own->after].before : &aging.last) = own->before;
    *own = (struct neighbours){NO_CHUNK, NO_CHUNK};
}

/* As the youngest. */
static void aging_enter(uint32_t name) {
    if (name >= aging.room) return;
    aging_leave(name);
    aging.of[name].before = aging.last;
    *(aging.last ? &aging.of[aging.last].after : &aging.first) = name;
    aging.last = name;
}

#endif
