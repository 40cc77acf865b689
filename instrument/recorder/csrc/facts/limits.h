/* How many facts of one kind are recorded in a second. What is left out is counted, and marked in the trace as a gap. */
#ifndef CLEW_FACTS_LIMITS_H
#define CLEW_FACTS_LIMITS_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

struct limit {
    uint64_t until, site, epoch;
    uint32_t count, dropped;
};

/* Is one more allowed? If not, it is counted. A second begins with the first one in it. */
bool limit_admits(struct limit *limit, uint32_t most);

/* Marks the beginning of a gap at `site`, if the fact just left out is the first one; `what` is a sentence. */
void limit_begin_gap(struct limit *limit, uint64_t site, uint32_t channel, const char *what);

/* Marks the end of a gap that is over, with the number of facts that are missing. */
void limit_end_gap(struct limit *limit, uint32_t channel, const char *what);

#endif
