/* The memory of probes: the fields that a call accesses are stored densely, all other fields separately.
 *
 * A program that calls a thousand functions in turn shares the processor's fastest cache with their probes, so cache
 * lines matter. Invariants: a probe has 32 bytes within one cache line, usually next to the other probe of the same
 * call; the address of a probe determines its slab. Slabs are never freed, because sites are never freed. */
#ifndef CLEW_CALLS_PROBE_SLAB_H
#define CLEW_CALLS_PROBE_SLAB_H

#include "core.h"

#include <stdint.h>

#include "trace_format.h"

struct probe {
    PyObject_HEAD
    uint64_t word; /* 0: it is to ask what to do, see counting.h */
    vectorcallfunc call;
};

/* The fields that storing a record does not need. */
struct details {
    uint64_t site;
    uint64_t epoch;              /* the recording in which it was switched off */
    struct counted *counted;     /* Borrowed: what is known of its site in that recording */
    struct probe *next, *before; /* in its bucket of `probes`; `next` also in a list of free ones */
    uint32_t kind;
};

#define SLAB_SIZE 65536u
#define SLAB_PROBES (SLAB_SIZE / (sizeof(struct probe) + sizeof(struct details)))

struct slab {
    struct probe probe[SLAB_PROBES];
    struct details details[SLAB_PROBES];
};

static inline struct details *details_of(const struct probe *probe) {
    struct slab *slab = (struct slab *)((uintptr_t)probe & ~(uintptr_t)(SLAB_SIZE - 1));
    return &slab->details[probe - slab->probe];
}

/* Every probe by site, so that a site's probes are found without a table in the hot path. Borrowed. */
#define BUCKETS 4096u
SHARED struct probe *probes[BUCKETS];

static inline uint64_t word_of(const struct probe *probe) {
    return pack_word(details_of(probe)->kind, details_of(probe)->site, 0, 0);
}

/* Memory for a probe, its details zeroed, or NULL. */
struct probe *probe_allocate(uint32_t kind);

void probe_free(struct probe *probe);

#endif
