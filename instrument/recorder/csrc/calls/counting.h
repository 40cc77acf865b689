/* Functions whose calls are counted instead of recorded, from the time when the budget blames them until the budget
 * allows recording them again.
 *
 * Invariants: every call is either recorded, from its beginning to its end, or counted. So a call that began before
 * counting is recorded to its end. In a thread inside a counted call, recording begins after that call
 * (`under_way`). The trace contains both changes at the place where they happen. The counts are in a COUNTERS chunk,
 * which remains after a killed process like all other chunks.
 *
 * Hysteresis: once per second of CPU time, the recorder estimates the cost of a function's calls in that second. If
 * this cost and all cost spent stay within half of the budget for three seconds, the function is recorded again.
 * Each time the function has to be counted again, this takes twice as long. */
#ifndef CLEW_CALLS_COUNTING_H
#define CLEW_CALLS_COUNTING_H

#include "core.h"

#include <stdbool.h>
#include <stdint.h>

#include "calls/probe_slab.h"
#include "trace_format.h"

struct counted {
    uint64_t site;
    uint64_t *calls;    /* Borrowed: its number in a COUNTERS chunk */
    uint64_t before;    /* that number when it was last switched off */
    uint64_t begun;     /* activations in this period that were not recorded */
    uint64_t under_way; /* and those that are not over yet, in all threads */
    double quiet;       /* ns for which it would have been within the budget, */
    double needed;      /* and for how many it has to be */
    uint32_t index;     /* of its number in a thread's `depth` */
    bool counting;
    bool pauses;          /* a generator or coroutine: an exception thrown into it ends what was not seen to begin */
    struct counted *next; /* Owned */
};

struct counting {
    struct counted *first; /* Owned: of the recording numbered `epoch`, every function that ever was counted */
    uint64_t epoch;
    uint32_t used;
    struct counter *cur, *end; /* Borrowed: the free part of the COUNTERS chunk */
    uint32_t number, segment;
};
SHARED struct counting counting;

static inline bool is_recorded(const struct counted *counted) { return !counted->counting && !counted->under_way; }

/* The entry of a site that is counted, or was in this recording; else NULL. */
struct counted *counted_of(uint64_t site);

void probe_switch_off(struct probe *probe, struct counted *counted);

/* Switches a site to counting and says so, in the thread's stream and to the user. */
void site_degraded(uint64_t site);

/* Counts what is not to be recorded: gives false for what is. The calling thread is known. */
bool call_counted(struct counted *counted, uint64_t word);

#endif
