#include "bars.h"

#include <stdlib.h>

#include "trace_format.h"

static void bar_put(BarWalk *walk, int64_t depth, Open of, int64_t end) {
    if (depth >= DEEPEST) return;
    if (walk->bars) {
        walk->bars[walk->next[depth]++] = (Bar){of.since, end, of.key, of.row};
        return;
    }
    while (walk->depths <= depth) {
        Counts_push(&walk->counts, 0);
        if (walk->counts.failed) return;
        walk->depths++;
    }
    walk->counts.items[walk->base + depth]++;
}

/* Forgets the calls that are suspended at `depth` or deeper. */
static void bar_rouse(BarWalk *walk, int64_t depth, int64_t now) {
    for (int64_t at = depth; at < walk->deepest; at++)
        if (walk->is_asleep[at]) {
            walk->is_asleep[at] = false;
            if (now > walk->asleep[at].since) bar_put(walk, at, walk->asleep[at], now);
        }
    if (walk->deepest > depth) walk->deepest = depth;
}

static void bar_pop(BarWalk *walk, uint8_t kind, uint32_t site, uint32_t row, int64_t now) {
    if (!walk->running[site]) return; /* an exception was thrown into a call that slept, or its beginning is missing */
    for (;;) {
        Open top = walk->stack.items[--walk->stack.count];
        walk->running[top.key]--;
        bar_put(walk, (int64_t)walk->stack.count, top, now);
        if (top.key == site) break;
    }
    int64_t depth = (int64_t)walk->stack.count;
    if (kind != KIND_SUSPEND) {
        bar_rouse(walk, depth, now);
    } else if (depth < DEEPEST) {
        walk->asleep[depth] = (Open){site | ASLEEP, row, now};
        walk->is_asleep[depth] = true;
        if (walk->deepest <= depth) walk->deepest = depth + 1;
    }
}

void bar_strand(BarWalk *walk, const uint8_t *kind, const uint32_t *site, const int64_t *ts, int64_t start, int64_t stop,
                uint16_t *depths) {
    int64_t now = stop > start ? ts[start] : 0;
    for (int64_t row = start; row < stop; row++) {
        if (ts[row] > now) now = ts[row]; /* a corrected clock may go back */
        uint8_t what = kind[row];
        if (what == KIND_ENTER || what == KIND_RESUME) {
            bar_rouse(walk, (int64_t)walk->stack.count, now);
            Opens_push(&walk->stack, (Open){site[row], (uint32_t)row, now});
            if (walk->stack.failed || walk->counts.failed) return;
            walk->running[site[row]]++;
        } else if (what == KIND_EXIT || what == KIND_UNWIND || what == KIND_SUSPEND) {
            bar_pop(walk, what, site[row], (uint32_t)row, now);
        }
        if (depths) {
            size_t depth = walk->stack.count;
            depths[row] = (uint16_t)(depth ? (depth < DEEPEST ? depth : DEEPEST) - 1 : 0);
        }
    }
    while (walk->stack.count) {
        Open top = walk->stack.items[--walk->stack.count];
        walk->running[top.key]--;
        bar_put(walk, (int64_t)walk->stack.count, top, now);
    }
    bar_rouse(walk, 0, now);
}

uint32_t mix_take(Mix *mix, int64_t *sum) {
    uint32_t best = 0;
    int64_t most = -1;
    for (size_t at = 0; at < mix->touched.count; at++) {
        int64_t *ns = mix->ns + slot(mix->touched.items[at]);
        if (*ns > most) {
            most = *ns;
            best = mix->touched.items[at];
        }
        *ns = 0;
    }
    mix->touched.count = 0;
    *sum = mix->sum;
    mix->sum = 0;
    return best;
}

static inline uint32_t part(int64_t ns, int64_t of) {
    return of > 0 ? (uint32_t)((double)ns / (double)of * 4294967295.0) : 0xFFFFFFFFu;
}

typedef struct {
    Mix mix;
    int64_t begin, end, bucket;
    uint32_t first; /* the key, where there is one bar and it has no time */
    bool open;
} Group;

static void group_end(Group *group, Bar *to, int64_t *made) {
    if (!group->open) return;
    int64_t sum;
    uint32_t key = mix_take(&group->mix, &sum);
    to[(*made)++] = (Bar){group->begin, group->end, sum ? key : group->first, part(sum, group->end - group->begin)};
    group->open = false;
}

int64_t coarsen(const Bar *bars, const int64_t *row_start, int64_t rows, int shift, size_t sites, Bar *to, int64_t *to_start) {
    Group group = {.mix = {.ns = calloc(sites * 2 + 2, sizeof(int64_t))}};
    int64_t made = 0;
    bool ok = group.mix.ns;
    for (int64_t row = 0; ok && row < rows; row++) {
        to_start[row] = made;
        for (int64_t at = row_start[row]; ok && at < row_start[row + 1]; at++) {
            Bar bar = bars[at];
            if (!(ok = bar_fits(&bar, sites))) break;
            int64_t length = bar.end - bar.begin, bucket = bar.begin >> shift;
            bool is_long = length >> shift;
            if (is_long || bucket != group.bucket) group_end(&group, to, &made);
            if (is_long) {
                to[made++] = (Bar){bar.begin, bar.end, bar.key, 0xFFFFFFFFu};
                continue;
            }
            if (!group.open) {
                group.open = true;
                group.begin = bar.begin;
                group.bucket = bucket;
                group.first = bar.key;
            }
            group.end = bar.end;
            if (length) mix_add(&group.mix, bar.key, length);
            ok = !group.mix.touched.failed;
        }
        group_end(&group, to, &made);
    }
    to_start[rows] = made;
    free(group.mix.ns);
    free(group.mix.touched.items);
    return ok ? made : -1;
}
