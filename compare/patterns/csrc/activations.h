/* Convert a strand's records to nested activations, with a stack and in preorder.
 *
 * The end of an activation also ends the activations above it. An activation that is resumed after the strand was
 * left continues if no record is between. tests/oracles/activations.py is the reference implementation. Invariant:
 * the time of a step is at most proportional to the entries it removes. */
#ifndef CLEW_ACTIVATIONS_H
#define CLEW_ACTIVATIONS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int32_t *parent, *size;
    uint8_t *way;
    int64_t *first, *last, *own;
    int32_t count;
    /* The state of the walk. */
    int64_t *call, *left; /* how often the strand had been left when it ended */
    int32_t *child;       /* the last one in it, -1 for none */
    int32_t *stack;
    int32_t depth, latest; /* what ended last, with nothing begun since, -1 for none */
    uint8_t *open;         /* per row of the strand: is the call that it opened on the stack? */
    int64_t start;
} Activations;

void activations_free(Activations *to);

bool activations_make(Activations *to, int64_t start, int64_t rows, int64_t most);

/* A call is given as the row that opened it. */
void walk_strand(Activations *to, int64_t rows, const uint8_t *kind, const void *call, bool wide, const int64_t *ts,
                 const uint8_t *idle);

#endif
