#include "clock.h"

#include <math.h>

/* The segment that holds a time, the first one also holds before it; nearly always `at`, where the last one was found. */
static int64_t segment_of(const Clock *clock, uint64_t ticks, int64_t at) {
    if (clock->begin[at] <= ticks && (at + 1 == clock->segments || ticks < clock->begin[at + 1])) return at;
    int64_t low = 0, high = clock->segments;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (clock->begin[middle] <= ticks) low = middle + 1;
        else high = middle;
    }
    return low ? low - 1 : 0;
}

/* A damaged record's time may be out of the range of 64 bits; it becomes the smallest number. */
static inline uint64_t rounded(double value) {
    return fabs(value) < 9.2e18 ? (uint64_t)(int64_t)rint(value) : (uint64_t)INT64_MIN;
}

void convert(const Clock *clock, const uint64_t *ticks, int64_t count, int64_t *ns) {
    int64_t at = 0;
    for (int64_t row = 0; row < count; row++) {
        at = segment_of(clock, ticks[row], at);
        uint64_t since = ticks[row] - clock->begin[at], base = (uint64_t)clock->base[at];
        double rate = clock->rate[at];
        uint64_t passed = rate == 1.0 ? since : rounded((double)(int64_t)since * rate);
        ns[row] = (int64_t)(base + passed);
    }
}
