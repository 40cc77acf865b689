/* Sampling: the request flow that a thread works for, and whether that flow is recorded.
 *
 * A flow begins at a REQUEST outside any flow. A hash of the flow's number decides whether it is recorded. The flow
 * follows its causal edges: a key sent in the flow carries the flow's state to the receiver of the key. A thread in
 * a dropped flow keeps its chunk but finds it full (`end` moved down to `cur`, the true end in `limit`). So the hot
 * path does not change, and the cold path asks this code. The same applies to a recorded flow while the end of a
 * call may end the flow. Invariants: outside flows, and without sampling, recording does not change; a flow is
 * recorded completely or not at all, except for flows that exceeded a table. All code runs with the GIL held. */
#ifndef CLEW_STORE_SAMPLING_H
#define CLEW_STORE_SAMPLING_H

#include "core.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

#define WAYS 4u

enum { FLOW_NONE, FLOW_KEPT, FLOW_DROPPED };

struct strand_flow {
    uint64_t key;
    struct flow flow;
};

struct flows {
    bool on;
    double share;
    uint64_t number, kept, dropped;
    uint64_t (*keys)[WAYS];              /* Owned: keys sent in flows, the state in the last two bits */
    struct strand_flow (*strands)[WAYS]; /* Owned: every strand's flow, as of its last step */
};
SHARED struct flows flows;

static inline uint64_t flow_mix(uint64_t value) {
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCDu;
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53u;
    return value ^ value >> 33;
}

void flows_start(double share);

/* A fresh key that carries the calling thread's flow to whatever process. */
uint64_t flow_mark(uint64_t key);

/* From now on the key stands for work of this state: a key may be an address that is used again. */
void flow_send(uint64_t key, unsigned state);

/* ---- The calling thread's chunk, open or seemingly full ---- */

static inline void flow_open(void) {
    if (self.limit) {
        self.end = self.limit;
        self.limit = NULL;
    }
}

static inline void flow_close(void) {
    if (UNLIKELY(self.withheld)) { /* a collection of garbage in a flow that is left out is left out, too */
        self.withheld = false;
        self.end = self.withheld_end;
    }
    if (!self.limit) self.limit = self.end;
    self.end = self.cur;
}

static inline bool is_watched(const struct flow *flow) {
    return flow->state == FLOW_DROPPED || (flow->state == FLOW_KEPT && flow->owner);
}

/* After a record was stored, or left out. */
static inline void flow_settle(void) {
    if (is_watched(&self.flow)) flow_close();
    else flow_open();
}

/* ---- What records do to the flow ---- */

/* Is a record with a key to be stored? Then the chunk is open for it; `flow_settle` has to follow. */
bool flow_admits(uint64_t kind, uint64_t site, uint64_t key, uint32_t channel);

/* The same for a plain record, in a flow that is watched. */
bool flow_admits_plain(uint64_t word);

#endif
