/* Find equal shapes in a forest: equal nodes with equal lists of child shapes get one number, from the leaves up.
 *
 * tests/oracles/activations.py is the reference implementation. Invariant: only equal lists share a number; hashes
 * find candidates, and the lists are then compared. */
#ifndef CLEW_SHAPES_H
#define CLEW_SHAPES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t *shape; /* per node */
    int64_t *place; /* per node: where in `child` it is, -1 for those that are in none */
    /* Per shape. */
    int32_t *symbol, *newer; /* the next one in its bucket, -1 for none */
    uint64_t *hash;
    int64_t *first;
    int32_t *child;
    int32_t count, room;
    int64_t children, child_room;
    int32_t *bucket;
    uint64_t mask;
} Shapes;

void shapes_free(Shapes *to);

/* Nodes are in preorder; `size` counts what is in each, itself included. False: no memory. */
bool shapes_find(Shapes *to, const int32_t *what, const int32_t *size, int64_t nodes);

#endif
