/* Immediate dominators of a flow graph with several entries, by Lengauer and Tarjan, "A fast algorithm for finding
 * dominators in a flowgraph", 1979. This is the simpler variant, whose time per edge is logarithmic in the number of
 * nodes, however often paths split and join.
 *
 * Nodes are numbered in the order of a depth-first search; 0 precedes all entries. Invariant: the out-edges of a
 * node are visited in the order of its edges, and the entries in their order, so the order of reached nodes is
 * always the same. */
#ifndef CLEW_DOMINATORS_H
#define CLEW_DOMINATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint32_t count;
    size_t edges;
    const uint32_t *source, *target;
    uint32_t *first, *far; /* owned: per node where its edges begin, one more; and their other ends */
} Ways;

/* The edges by one of their ends, in their order. False without memory. */
bool ways_make(Ways *ways, bool onward);

void ways_free(Ways *ways);

typedef struct {
    uint32_t *above;   /* per node, NONE for none */
    uint32_t *reached; /* the nodes by number - 1; owned by the caller, as `above` */
    size_t reached_count;
} Dominated;

/* False without memory. */
bool dominators_find(const Ways *onward, const Ways *comes, const uint32_t *entries, size_t entry_count, Dominated *d);

#endif
