/* Each target's source: the last one of its key before it, see `graph.pairing`.
 *
 * Keys are looked up in open hash tables; whoever made the keys is trusted no further than that equal hashes cost time.
 * Invariant: an answer is a position before the target's own, or -1. */
#ifndef CLEW_PAIRS_H
#define CLEW_PAIRS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    uint64_t key;
    uint32_t process;
    bool used;
    int64_t last;
} Slot;

typedef struct {
    Slot *slots;
    size_t mask;
} Table;

static bool table_make(Table *table, size_t entries) {
    size_t size = 16;
    while (size < entries * 2) size *= 2;
    table->slots = calloc(size, sizeof *table->slots);
    table->mask = size - 1;
    return table->slots != NULL;
}

static uint64_t mix(uint64_t key, uint32_t process) {
    key += (uint64_t)process * 0x9E3779B97F4A7C15u;
    key = (key ^ (key >> 30)) * 0xBF58476D1CE4E5B9u;
    key = (key ^ (key >> 27)) * 0x94D049BB133111EBu;
    return key ^ (key >> 31);
}

/* The slot of a key, or the free one where it belongs. */
static Slot *table_at(const Table *table, uint64_t key, uint32_t process) {
    size_t at = (size_t)mix(key, process) & table->mask;
    for (;; at = (at + 1) & table->mask) {
        Slot *slot = table->slots + at;
        if (!slot->used || (slot->key == key && slot->process == process)) return slot;
    }
}

static void table_put(const Table *table, uint64_t key, uint32_t process, int64_t position) {
    Slot *slot = table_at(table, key, process);
    slot->key = key;
    slot->process = process;
    slot->used = true;
    slot->last = position;
}

static int64_t table_get(const Table *table, uint64_t key, uint32_t process) {
    const Slot *slot = table_at(table, key, process);
    return slot->used ? slot->last : -1;
}

/* In time order; `found` gets -1 for sources. `handed_over`: what another process has received is out of its sender's hands.
 * False: no memory. */
static bool pair_all(const uint8_t *is_source, const uint64_t *key, const uint32_t *process, int64_t count, bool handed_over,
                     int64_t *found) {
    size_t sources = 0;
    bool alone = true;
    for (int64_t at = 0; at < count; at++) {
        sources += is_source[at];
        alone &= process[at] == process[0];
    }
    Table latest = {NULL, 0}, own = {NULL, 0};
    uint8_t *gone = NULL;
    bool ok = table_make(&latest, sources);
    if (ok && !alone) ok = table_make(&own, sources) && (gone = calloc((size_t)count + 1, 1)) != NULL;
    for (int64_t at = 0; ok && at < count; at++) {
        found[at] = -1;
        if (is_source[at]) {
            table_put(&latest, key[at], 0, at);
            if (!alone) table_put(&own, key[at], process[at], at);
            continue;
        }
        int64_t source = alone ? -1 : table_get(&own, key[at], process[at]);
        if (source < 0 || (handed_over && gone[source])) source = table_get(&latest, key[at], 0);
        found[at] = source;
        if (!alone && source >= 0 && process[source] != process[at]) gone[source] = 1;
    }
    free(latest.slots);
    free(own.slots);
    free(gone);
    return ok;
}

#endif
