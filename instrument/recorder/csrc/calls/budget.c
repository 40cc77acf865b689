#include "calls/budget.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/clock.h"
#include "store/records.h"
#include "store/store.h"
#include "trace_format.h"

struct budget budget;

/* The measured cost that a probe adds to the store: pushing a constant, the operator, popping its result, and touching
 * fresh memory, which the calibration does not do. */
#define AROUND_NS 10.0
/* The measured time of Python code that makes a record and calls `emit`, for a key of one attribute. A record of a native
 * hook has no such part; it is booked by its 16-byte units, like plain records. */
#define EMITTED_NS 700.0
/* Credit is kept for a second of work, so that a quiet time pays for a short burst but not for a long one. */
#define CREDIT_NS 1e9
#define FIRST_CREDIT_NS 1e8

double calibrate(void) {
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

uint64_t budget_clock(void) { return budget.pretends ? budget.pretended : clock_read(CLOCK_PROCESS_CPUTIME_ID); }

/* Starts the judgement of the next site. */
static void budget_judged(void) {
    budget.credit = budget.share * FIRST_CREDIT_NS;
    budget.records = budget.actions = 0;
}

void budget_new_period(void) {
    budget.period = budget_clock();
    budget.spent = 0;
}

void budget_start(double share) {
    budget.share = share > 0 ? share : 0;
    budget.pretends = false;
    if (budget.share == 0) return;
    budget.cost = calibrate() + AROUND_NS;
    budget.clock = budget_clock();
    budget_judged();
    budget_new_period();
}

void budget_pretend(uint64_t clock, double cost) {
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

/* The site with the most records of calls and writes in the calling thread's full chunk, or 0. */
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
        uint64_t kind = word & 0xFF;
        bool is_call = kind >= KIND_ENTER && kind <= KIND_RESUME;
        if (!site || !(is_call || kind == KIND_WRITE || kind == KIND_GIVEN)) continue;
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

uint64_t chunk_filled(uint64_t units, uint64_t emitted) {
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

bool actions_booked(double ns, double emitted) {
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
