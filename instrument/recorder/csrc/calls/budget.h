/* The budget: the cost of recording, computed from counts and calibrated costs, and the function to blame if the
 * cost is too high.
 *
 * The hot path contains none of this code: a thread books its chunk when the chunk is full. Invariant: the booked
 * cost is a share of process CPU time, so neither an idle program nor a busy machine changes which function is
 * blamed. */
#ifndef CLEW_CALLS_BUDGET_H
#define CLEW_CALLS_BUDGET_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

struct budget {
    double share;    /* of CPU time that recording may cost; 0 for no bound */
    double cost;     /* ns of one plain record, measured at start */
    double credit;   /* ns that may still be spent: grows with CPU time, shrinks with records */
    uint64_t clock;  /* process CPU time up to which credit was given */
    double records;  /* ns that were spent on records since a site was last judged, */
    double actions;  /* and on actions: the greater part is to blame */
    double spent;    /* ns on both in this period; see counting.h */
    uint64_t period; /* process CPU time at which it began */
    uint64_t looked; /* ticks at which it was last asked whether it is over */
    bool pretends;   /* the process CPU time is `pretended`, for tests */
    uint64_t pretended;
};
SHARED struct budget budget;

/* Time of one plain record in ns, the best of several rounds into scratch memory. */
double calibrate(void);

uint64_t budget_clock(void);

void budget_new_period(void);

void budget_start(double share);

/* Lets tests set the process CPU time and the cost of a plain record. */
void budget_pretend(uint64_t clock, double cost);

/* Books what the full chunk cost. Gives the site to switch off when the budget is overdrawn by records, else 0. */
uint64_t chunk_filled(uint64_t units, uint64_t emitted);

/* Books actions that took `ns` and made `emitted` records, which are not to be booked twice. True when the budget is
 * overdrawn by actions. */
bool actions_booked(double ns, double emitted);

#endif
