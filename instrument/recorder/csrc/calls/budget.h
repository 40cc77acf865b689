/* The budget: the cost of recording, computed from counts and calibrated costs, and the function to blame if the
 * cost is too high.
 *
 * The hot path contains none of this code: a thread books its chunk when the chunk is full. Invariant: the booked
 * cost is a share of process CPU time, so neither an idle program nor a busy machine changes which function is
 * blamed. */

#ifndef CLEW_CALLS_BUDGET_H
#define CLEW_CALLS_BUDGET_H

#include "store/records.h"

static struct {
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
} budget;

/* What a probe adds to the store, as measured: a constant pushed, the operator, its result popped; and memory that is
 * touched for the first time, which the calibration's is not. */
#define AROUND_NS 10.0
/* What Python code takes that makes a record and calls `emit`, as measured for a key of one attribute. A record of a native
 * hook has no such part: its 16-byte units, booked like plain records, are the 20 to 40 ns that it takes. */
#define EMITTED_NS 700.0
/* Credit is kept for a second of work, so that a quiet time pays for a short burst but not for a long one. */
#define CREDIT_NS 1e9
#define FIRST_CREDIT_NS 1e8

/* Time of one plain record in ns, the best of several rounds into memory nobody reads. */
static double calibrate(void) {
    char *scratch = calloc(1, CHUNK_SIZE), *cur = self.cur, *end = self.end;
    double best = 1e9;
    if (!scratch) return 10.0;
    for (int round = 0; round < 8; round++) {
        self.cur = scratch;
        self.end = scratch + CHUNK_SIZE;
        uint64_t started = clock_read(CLOCK_MONOTONIC);
        for (uint64_t i = 0; i < CHUNK_SIZE / RECORD_SIZE; i++) put(i << 32 | KIND_ENTER);
        double each = (double)(clock_read(CLOCK_MONOTONIC) - started) / (CHUNK_SIZE / RECORD_SIZE);
        best = each < best ? each : best;
    }
    self.cur = cur;
    self.end = end;
    free(scratch);
    return best;
}

static uint64_t budget_clock(void) { return budget.pretends ? budget.pretended : clock_read(CLOCK_PROCESS_CPUTIME_ID); }

/* From here on it is the next one's turn to be judged. */
static void budget_judged(void) {
    budget.credit = budget.share * FIRST_CREDIT_NS;
    budget.records = budget.actions = 0;
}

static void budget_new_period(void) {
    budget.period = budget_clock();
    budget.spent = 0;
}

static void budget_start(double share) {
    budget.share = share > 0 ? share : 0;
    budget.pretends = false;
    if (budget.share == 0) return;
    budget.cost = calibrate() + AROUND_NS;
    budget.clock = budget_clock();
    budget_judged();
    budget_new_period();
}

/* Has tests say what the process CPU time is, and what a plain record costs. */
static void budget_pretend(uint64_t clock, double cost) {
    bool first = !budget.pretends;
    budget.pretends = true;
    budget.pretended = clock;
    budget.cost = cost;
    if (first) {
        budget.clock = clock;
        budget_judged();
        budget_new_period();
    }
}

/* Credit for the CPU time since it was last given. */
static void budget_earn(void) {
    uint64_t clock = budget_clock();
    budget.credit += budget.share * (double)(clock - budget.clock);
    budget.clock = clock;
    if (budget.credit > budget.share * CREDIT_NS) budget.credit = budget.share * CREDIT_NS;
}

/* The site with the most plain call records in the calling thread's full chunk, or 0. */
static uint64_t hottest_site(void) {
    enum { SLOTS = 1024 };
    static struct { /* Not on the stack: that of a thread may be 32 KB in all. */
        uint64_t site;
        uint32_t count;
    } seen[SLOTS];
    memset(seen, 0, sizeof seen);
    uint64_t hottest = 0;
    uint32_t most = 0, used = 0;
    for (char *at = self.chunk + CHUNK_HEADER_SIZE; at < self.cur;) {
        uint64_t word = ((struct record *)at)->word, site = word >> 32;
        at += RECORD_SIZE * (1 + (word >> 8 & 0xFF));
        if ((word & 0xFF) < KIND_ENTER || (word & 0xFF) > KIND_RESUME || !site) continue;
        uint32_t slot = (uint32_t)(site * 0x9E3779B1u) % SLOTS;
        while (seen[slot].count && seen[slot].site != site) slot = (slot + 1) % SLOTS;
        if (!seen[slot].count) {
            if (used == SLOTS / 2) /* Many sites, none of them hot: the ones seen first will do. */
                continue;
            used++;
            seen[slot].site = site;
        }
        if (++seen[slot].count > most) {
            most = seen[slot].count;
            hottest = site;
        }
    }
    return hottest;
}

/* Books what the full chunk cost. Gives the site to switch off when the budget is overdrawn by records, else 0. */
static uint64_t chunk_filled(uint64_t units, uint64_t emitted) {
    if (budget.share == 0) return 0;
    double cost = (double)units * budget.cost + (double)emitted * EMITTED_NS;
    budget_earn();
    budget.credit -= cost;
    budget.records += cost;
    budget.spent += cost;
    if (budget.credit >= 0 || budget.actions > budget.records) return 0;
    budget_judged();
    return hottest_site();
}

/* Books actions that took `ns` and made `emitted` records, which are not to be booked twice. True when the budget is
 * overdrawn by actions. */
static bool actions_booked(double ns, double emitted) {
    if (budget.share == 0) return false;
    budget_earn();
    budget.credit -= ns - emitted * EMITTED_NS;
    budget.actions += ns;
    budget.records -= emitted * EMITTED_NS;
    budget.spent += ns - emitted * EMITTED_NS;
    if (budget.credit >= 0 || budget.actions <= budget.records) return false;
    budget_judged();
    return true;
}

#endif
