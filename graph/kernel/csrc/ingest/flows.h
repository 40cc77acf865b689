/* Flows of requests in depth-first order, with children sorted by name and shape, see `graph/ops/flows/order.py`.
 *
 * A shape is a hash of a frame's name and of its children's shapes, in order. Invariants: a frame is in a flow once;
 * a cycle of parents is detected and never followed forever; equal siblings that count as one have equally many
 * descendants. */
#ifndef CLEW_FLOWS_H
#define CLEW_FLOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

enum { NO_PARENT = -1, LEFT_OUT = -2 };

typedef struct {
    uint32_t frame, up, first, kids; /* `up` and the kids' places: in the flow's own list, level by level */
    uint32_t size, place;
    uint64_t shape;
    bool again; /* one of several equal siblings that count as one */
} FlowNode;

LIST(FlowNodes, FlowNode)
LIST(Places, int64_t)

typedef struct {
    const int32_t *parent, *label; /* per frame */
    const int64_t *begin;
    const uint64_t *name;   /* per label */
    uint32_t *child, *next; /* owned: the frame's first child, and its parent's next one */
    int64_t frames;
    bool coalesce, failed, circle;
    FlowNodes nodes; /* of one flow */
    uint32_t *order; /* owned: the kids of the flow's nodes, each node's sorted */
    size_t room;
    Numbers frame, above, more; /* what comes out: per place its frame and its parent's place; frames that are there again, */
    Places where;               /* and their places */
} Flows;

/* Finds the flow of each root: `first` gets where the flow begins, `shape` its shape. */
bool flows_order(Flows *flows, const int32_t *roots, int64_t count, int64_t *first, uint64_t *shape);

void flows_free(Flows *flows);

#endif
