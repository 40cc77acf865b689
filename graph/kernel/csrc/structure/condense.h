/* Condense a slice if a label is constant within each region: each connected part with one label becomes a vertex.
 *
 * Invariant: vertices are sorted by their first time, then by their smallest region; edges are sorted by their ends.
 * So every way to condense a slice returns the same bytes. */
#ifndef CLEW_CONDENSE_H
#define CLEW_CONDENSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"
#include "slice.h"

typedef struct {
    int64_t first, last; /* times of its first and last event */
    int64_t events;
    uint32_t label;
    uint32_t region; /* the smallest one that has an event in it */
} Vertex;

typedef struct {
    uint32_t source, target, count;
} Arc;

LIST(Vertices, Vertex)
LIST(Keys, uint64_t)

/* The result of condensing; the lists are owned. */
typedef struct {
    Vertices vertices;
    Keys pairs; /* source << 32 | target, one per edge between vertices; then arcs are made of them */
    Arc *arcs;
    size_t arc_count;
    uint32_t *vertex_of; /* per number of a component before sorting its vertex */
} Condensed;

void condensed_free(Condensed *c);

static inline void vertex_add(Vertex *vertex, int64_t events, int64_t first, int64_t last, uint32_t region) {
    vertex->events += events;
    if (first < vertex->first) vertex->first = first;
    if (last > vertex->last) vertex->last = last;
    if (region < vertex->region) vertex->region = region;
}

/* Sorts the vertices, and sums the edges between each two of them. False without memory. */
bool condensed_finish(Condensed *c);

/* Condenses the slice that has these bounds (positions), one per reached region. `ts` is by row, `labels` by region;
 * `vertex_of_region[i]` becomes the vertex of regions[i]. False without memory. */
bool condense(Slicing *s, const uint32_t *regions, const uint32_t *bounds, size_t count, const uint32_t *labels,
              const int64_t *ts, Condensed *c, uint32_t *vertex_of_region);

#endif
