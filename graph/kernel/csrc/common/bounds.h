/* The begin and end positions of the parts of an array.
 *
 * Invariant: a check that fails has always set an exception. */
#ifndef CLEW_BOUNDS_H
#define CLEW_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

/* Do strands begin and end within `events` rows, one after the other? */
bool bounds_fit(const int64_t *start, int64_t strands, int64_t events);

#endif
