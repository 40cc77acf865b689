/* Compute the durations of calls, their own work and waiting time, and the beginnings of waits, see graph/build/call_times.py.
 *
 * Invariant: each gap between two events of a strand is booked at most once, on the call that runs in it. */
#ifndef CLEW_DURATIONS_H
#define CLEW_DURATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cancellation.h"
#include "nesting.h"

/* `self` and `waiting` begin as zeros. Returns false when cancelled. */
bool book(Finder *finder, const void *call, const void *inner, bool wide, const int64_t *exit, const int64_t *ts,
          const uint8_t *idle, const int64_t *strand_start, int64_t strands, const int64_t *pauses, int64_t paused,
          int64_t *total, int64_t *self, int64_t *waiting, Thrown thrown);

/* Marks the time between two events of a strand when the running call did not work: another strand ran on the thread, the
 * strand was suspended, or a loop came from one scope to the next. Returns false for a site that does not exist. */
bool find_idle(const uint8_t *kind, const uint32_t *site, const void *sequence, bool wide, const int64_t *strand_start,
               int64_t strands, const uint8_t *by_loop, int64_t sites, uint8_t *idle);

/* Marks, for each edge whose target's strand waited for its source, the row after which it did. `passive` is by kind. */
void find_waits(const int64_t *ts, const uint8_t *kind, const uint32_t *strand, const uint8_t *passive, const int64_t *src,
                const int64_t *dst, int64_t edges, uint8_t *idle);

#endif
