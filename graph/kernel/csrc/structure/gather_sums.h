/* The second pass of gathering: the contribution of each event to its node, and the edges between nodes.
 *
 * Two consecutive events of a region without a call or return between them also form an edge, unless a call already
 * provides it. Invariant: there is one edge per source, target, kind and channel, and edges are sorted in this
 * order. */
#ifndef CLEW_GATHER_SUMS_H
#define CLEW_GATHER_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gather.h"
#include "memory.h"

typedef struct {
    uint32_t source, target, kind, channel;
    int64_t count, latency;
} Edge;
LIST(Edges, Edge)
LIST(Pairs, uint64_t)

typedef struct {
    uint32_t *caller, *calls; /* per node the first other one that called it, NONE for none; and how often it did */
    Pairs further;            /* caller << 32 | called, of other callers */
    Pairs next;               /* before << 32 | after, where nothing said so yet */
    Edges edges;
} Between;

/* All but the edges. */
void between_forget(Between *b);

void between_free(Between *b);

/* Sorts edges by source, and those of each as `compare_edges` says, into `sorted`; equal ones become one. Gives how many there
 * are then; SIZE_MAX without memory. */
size_t merge_edges(const Edges *edges, size_t nodes, Edge *sorted);

/* Does everything except merging the edges; the results are in `g` and `b`. Returns false without memory or when
 * cancelled. */
bool gather(Gathering *g, Between *b);

#endif
