/* Time stamps: the processor's cycle counter if it is invariant, else the monotonic clock.
 *
 * Invariant: one process uses one clock from start to stop. Each pair of (ticks, monotonic ns) is taken so that its
 * two values are tens of nanoseconds apart, regardless of the load of the machine. */
#ifndef CLEW_STORE_CLOCK_H
#define CLEW_STORE_CLOCK_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

SHARED bool clock_cycles; /* decided once, when the module is loaded */

static inline uint64_t clock_read(clockid_t id) {
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Ticks of the chosen clock; never 0. */
static inline uint64_t now(void) {
#if defined(__x86_64__)
    if (LIKELY(clock_cycles)) return __rdtsc();
#endif
    return clock_read(CLOCK_MONOTONIC);
}

void clock_choose(void);

/* The same instant on both clocks: the tightest of three readings, so that a preemption between the two spoils none. */
void clock_pair(uint64_t *ticks, uint64_t *nanoseconds);

/* Nanoseconds that a number of ticks takes. */
uint64_t clock_ns(uint64_t ticks);

/* Ticks in a number of nanoseconds. */
uint64_t clock_ticks(uint64_t nanoseconds);

#endif
