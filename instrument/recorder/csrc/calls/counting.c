#include "calls/counting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls/budget.h"
#include "hooks/writes.h"
#include "store/chunks.h"
#include "store/clock.h"
#include "store/records.h"
#include "store/sampling.h"
#include "store/store.h"

struct counting counting;

#define PERIOD_NS 1e9
#define QUIET_NS 3e9
#define MOST_QUIET_NS 96e9
/* The share of the budget that must suffice for a function to be recorded again. */
#define RETURNING 0.5
/* Ticks between two readings of the CPU time, which is a system call: some 0.1 s. */
#define PATIENCE (1u << 28)

struct counted *counted_of(uint64_t site) {
    struct counted *found = counting.epoch == store.epoch ? counting.first : NULL;
    while (found && found->site != site) found = found->next;
    return found;
}

static uint64_t *counter_for(uint64_t site) {
    if (counting.cur == counting.end) {
        bool fresh; /* A full one is never released: its numbers still grow. */
        char *chunk = chunk_claim(CHUNK_COUNTERS, NULL, counting.number++, &counting.segment, &fresh);
        if (!chunk) return NULL;
        counting.cur = (struct counter *)(chunk + CHUNK_HEADER_SIZE);
        counting.end = (struct counter *)(chunk + CHUNK_SIZE);
    }
    counting.cur->calls = 0;
    __atomic_store_n(&counting.cur->site, site, __ATOMIC_RELEASE);
    return &counting.cur++->calls;
}

static struct counted *counted_new(uint64_t site) {
    if (counting.epoch != store.epoch) {
        while (counting.first) {
            struct counted *next = counting.first->next;
            free(counting.first);
            counting.first = next;
        }
        counting.epoch = store.epoch;
        counting.used = counting.number = 0;
        counting.cur = counting.end = NULL;
    }
    struct counted *counted = calloc(1, sizeof *counted);
    uint64_t *calls = counted ? counter_for(site) : NULL;
    if (!calls) {
        free(counted);
        return NULL;
    }
    counted->site = site;
    counted->calls = calls;
    counted->index = counting.used++;
    counted->needed = QUIET_NS / 2;
    counted->next = counting.first;
    return counting.first = counted;
}

void probe_switch_off(struct probe *probe, struct counted *counted) {
    struct details *details = details_of(probe);
    counted->pauses |= details->kind == KIND_SUSPEND || details->kind == KIND_RESUME;
    details->counted = counted;
    details->epoch = store.epoch;
    probe->word = 0;
}

static void told_of_site(uint64_t site, uint64_t calls, uint32_t flags, const char *text) {
    put_extended(KIND_GAP, site, calls, 0, text, strlen(text), flags);
    define(KIND_NOTE, site, text, strlen(text));
}

/* Writes are not counted, and not recorded again: what became of a state in between could not be told. */
static bool writes_degraded(uint64_t site) {
    if (!writes_switch_off(site)) return false;
    char text[200];
    snprintf(text, sizeof text,
             "recording would have cost more than the budget of %.3g %%: from here on what this line writes is not recorded",
             budget.share * 100);
    told_of_site(site, 0, 0, text);
    return true;
}

void site_degraded(uint64_t site) {
    if (writes_degraded(site)) return;
    struct counted *counted = counted_of(site);
    if (!counted) counted = counted_new(site);
    if (!counted || counted->counting) return;
    counted->counting = true;
    counted->before = *counted->calls;
    counted->quiet = 0;
    counted->needed = 2 * counted->needed < MOST_QUIET_NS ? 2 * counted->needed : MOST_QUIET_NS;
    for (struct probe *probe = probes[site % BUCKETS]; probe; probe = details_of(probe)->next)
        if (details_of(probe)->site == site) probe_switch_off(probe, counted);
    for (struct counted *each = counting.first; each; each = each->next) each->begun = 0;
    budget_new_period();
    char text[200];
    snprintf(text, sizeof text,
             "recording would have cost more than the budget of %.3g %%: from here on calls of this function are counted, "
             "not recorded",
             budget.share * 100);
    told_of_site(site, 0, 0, text);
}

/* Makes its probes store records again, once no counted call runs. */
static void switch_on(struct counted *counted) {
    if (is_recorded(counted))
        for (struct probe *probe = probes[counted->site % BUCKETS]; probe; probe = details_of(probe)->next)
            if (details_of(probe)->site == counted->site) probe->word = word_of(probe);
}

static void site_recovered(struct counted *counted) {
    told_of_site(counted->site, *counted->calls - counted->before, FLAG_OVER,
                 "recording fits the budget again: from here on calls of this function are recorded, but for those inside of "
                 "calls that were only counted");
    counted->counting = false;
    switch_on(counted);
}

/* Checks once per period whether a function has been quiet for long enough. */
static void look_for_recovered(void) {
    uint64_t ticks = now();
    if (!budget.pretends && ticks - budget.looked < PATIENCE) return;
    budget.looked = ticks;
    double elapsed = (double)(budget_clock() - budget.period);
    if (elapsed < PERIOD_NS) return;
    double room = budget.share * elapsed * RETURNING - budget.spent;
    budget_new_period();
    for (struct counted *each = counting.first; each; each = each->next) {
        double cost = 2 * (double)each->begun * budget.cost; /* its beginning and its end */
        each->begun = 0;
        if (!each->counting) continue;
        each->quiet = cost <= room ? each->quiet + elapsed : 0;
        if (each->quiet >= each->needed) {
            room -= cost;
            site_recovered(each);
        }
    }
}

/* How many counted activations of a function the calling thread, which is known, is inside of; NULL without memory. */
static uint32_t *depth_of(const struct counted *counted) {
    if (self.depth_epoch != store.epoch) {
        self.depth_epoch = store.epoch;
        if (self.depths) memset(self.depth, 0, self.depths * sizeof *self.depth);
    }
    if (counted->index >= self.depths) {
        uint32_t depths = counted->index + 16;
        uint32_t *depth = realloc(self.depth, depths * sizeof *depth);
        if (!depth) return NULL;
        memset(depth + self.depths, 0, (depths - self.depths) * sizeof *depth);
        self.depth = depth;
        self.depths = depths;
    }
    return &self.depth[counted->index];
}

bool call_counted(struct counted *counted, uint64_t word) {
    uint64_t kind = word & 0xFF;
    bool begins = kind == KIND_ENTER || kind == KIND_RESUME, ends = kind > KIND_ENTER && kind < KIND_RESUME;
    if (begins && counted->counting && self.flow.state != FLOW_DROPPED) look_for_recovered();
    uint32_t *depth = depth_of(counted);
    bool inside = depth && *depth;
    if (!counted->counting && !inside) {
        switch_on(counted);
        return false;
    }
    if (ends && !inside && depth && !counted->pauses) return false; /* It began before it was counted. */
    bool left_out = is_watched(&self.flow) && !flow_admits_plain(word);
    if (begins && depth) {
        ++*depth;
        counted->under_way++;
    } else if (ends && inside) {
        --*depth;
        counted->under_way--;
        switch_on(counted);
    }
    if (!left_out && is_watched(&self.flow)) flow_close();
    if (begins && !left_out) {
        counted->begun++;
        *counted->calls += kind == KIND_ENTER;
    }
    return true;
}
