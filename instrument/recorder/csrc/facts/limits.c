#include "facts/limits.h"

#include <string.h>
#include <time.h>

#include "store/clock.h"
#include "store/records.h"
#include "store/store.h"
#include "trace_format.h"

#define SECOND 1000000000u

bool limit_admits(struct limit *limit, uint32_t most) {
    if (limit->epoch != store.epoch) *limit = (struct limit){.epoch = store.epoch};
    uint64_t time = clock_read(CLOCK_MONOTONIC);
    if (time >= limit->until) {
        limit->until = time + SECOND;
        limit->count = 0;
    }
    if (limit->count < most) {
        limit->count++;
        return true;
    }
    limit->dropped++;
    return false;
}

void limit_begin_gap(struct limit *limit, uint64_t site, uint32_t channel, const char *what) {
    if (limit->dropped != 1) return;
    limit->site = site;
    put_extended(KIND_GAP, site, 0, channel, what, strlen(what), 0);
}

void limit_end_gap(struct limit *limit, uint32_t channel, const char *what) {
    if (!limit->dropped || limit->epoch != store.epoch) return;
    put_extended(KIND_GAP, limit->site, limit->dropped, channel, what, strlen(what), FLAG_OVER);
    limit->dropped = 0;
}
