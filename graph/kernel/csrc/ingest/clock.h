/* Convert ticks to nanoseconds along the segments of a clock, see graph/build/tick_conversion.py.
 *
 * Invariant: the segment is searched only when the time has left the previous segment. */
#ifndef CLEW_CLOCK_H
#define CLEW_CLOCK_H

#include <stdint.h>

typedef struct {
    const uint64_t *begin;
    const int64_t *base;
    const double *rate;
    int64_t segments;
} Clock;

void convert(const Clock *clock, const uint64_t *ticks, int64_t count, int64_t *ns);

#endif
