/* Compute how much sooner events happen if some of the work before them is faster; see graph/ops/timing/replay.py.
 *
 * Invariant: a cause without a known time is left out; equal times in a cycle can lead to such a cause. */
#ifndef CLEW_RETIMING_H
#define CLEW_RETIMING_H

#include <stdint.h>

typedef struct {
    /* Joins; join i has the causes first[i] up to first[i + 1]. */
    const int64_t *order, *first;
    /* Causes: the last join before it on its strand (-1: none), its time, the work since that join, and between it and its own. */
    const int64_t *other, *time;
    const double *done, *gap;
    double rate;
} Retiming;

void retime_all(const Retiming *r, int64_t joins, double *saved);

#endif
