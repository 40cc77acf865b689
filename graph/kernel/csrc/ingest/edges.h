/* Sort edges into the order of the graph: by the region of the source, then by source, then by target, see
 * graph/model/edge_order.py.
 *
 * A counting sort orders the regions; the out-edges of each region, usually a few, are then sorted. Invariant: the
 * sort is stable, so equal edges keep their order. */
#ifndef CLEW_EDGES_H
#define CLEW_EDGES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int64_t *src, *dst;
    uint8_t *kind;
    int64_t edges;
} Edge_columns;

/* False: no memory. */
bool edges_arrange(const Edge_columns *from, const uint32_t *region, int64_t regions, const Edge_columns *to);

/* An edge's channel is its target's, or where that has none its source's; `ext` is by row. */
void edges_name(const Edge_columns *of, const int32_t *ext, const uint32_t *channel, uint32_t *name);

#endif
