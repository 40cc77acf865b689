#include "calls/probe_slab.h"

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
struct probe *probes[BUCKETS];

static struct pool *pool_of(uint32_t kind) { return &pools[kind == KIND_UNWIND]; }

struct probe *probe_allocate(uint32_t kind) {
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

void probe_free(struct probe *probe) {
    struct details *details = details_of(probe);
    struct pool *pool = pool_of(details->kind);
    details->next = pool->free;
    pool->free = probe;
}
