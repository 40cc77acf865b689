/* The memory of probes: the fields that a call accesses are stored densely, all other fields separately.
 *
 * A program that calls a thousand functions in turn shares the processor's fastest cache with their probes, so cache
 * lines matter. Invariants: a probe has 32 bytes within one cache line, usually next to the other probe of the same
 * call; the address of a probe determines its slab. Slabs are never freed, because sites are never freed. */

#ifndef CLEW_CALLS_PROBE_SLAB_H
#define CLEW_CALLS_PROBE_SLAB_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>

#include "trace_format.h"

struct probe {
    PyObject_HEAD
    uint64_t word; /* 0: it is to ask what to do, see counting.h */
    vectorcallfunc call;
};

/* What is not needed to store a record. */
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

#ifndef Py_TRACE_REFS
_Static_assert(sizeof(struct probe) == 32, "two probes in a cache line");
#endif
_Static_assert(sizeof(struct slab) <= SLAB_SIZE, "a slab is found from an address in it");

/* Where the next probe comes from. Those that handlers run lie apart, not between the ones that every call runs. */
static struct pool {
    struct probe *free; /* Owned, through `next`: given back */
    struct slab *slab;  /* Owned: the one with probes never used, if any */
    size_t used;        /* of that */
} pools[2];

static struct details *details_of(const struct probe *probe) {
    struct slab *slab = (struct slab *)((uintptr_t)probe & ~(uintptr_t)(SLAB_SIZE - 1));
    return &slab->details[probe - slab->probe];
}

/* Every probe by site, so that a site's probes are found without a table in the hot path. Borrowed. */
#define BUCKETS 4096u
static struct probe *probes[BUCKETS];

static struct pool *pool_of(uint32_t kind) { return &pools[kind == KIND_UNWIND]; }

static uint64_t word_of(const struct probe *probe) { return pack_word(details_of(probe)->kind, details_of(probe)->site, 0, 0); }

/* Memory for a probe, its details zeroed, or NULL. */
static struct probe *probe_allocate(uint32_t kind) {
    struct pool *pool = pool_of(kind);
    struct probe *probe = pool->free;
    if (probe) {
        pool->free = details_of(probe)->next;
    } else {
        if (!pool->slab || pool->used == SLAB_PROBES) {
            struct slab *slab = aligned_alloc(SLAB_SIZE, SLAB_SIZE);
            if (!slab) return NULL;
            pool->slab = slab;
            pool->used = 0;
        }
        probe = &pool->slab->probe[pool->used++];
    }
    *details_of(probe) = (struct details){.kind = kind};
    return probe;
}

static void probe_free(struct probe *probe) {
    struct details *details = details_of(probe);
    struct pool *pool = pool_of(details->kind);
    details->next = pool->free;
    pool->free = probe;
}

#endif
