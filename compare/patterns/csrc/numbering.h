/* A grammar's rules as columns, numbered in the order of their first occurrence in the sequence, with the position
 * of that occurrence and their lengths.
 *
 * Invariant: equal sequences always have equal columns, regardless of the numbering of the grammar's nodes. */
#ifndef CLEW_NUMBERING_H
#define CLEW_NUMBERING_H

#include <stdbool.h>
#include <stdint.h>

#include "grammar.h"

typedef struct {
    int64_t rules, symbols;
    int32_t *order;          /* rules by number */
    int64_t *start, *length; /* by number */
    int64_t *first, *exponent;
    int32_t *symbol;
} Numbered;

void numbered_free(Numbered *to);

/* False: no memory. */
bool number_rules(const Grammar *g, Numbered *to);

#endif
