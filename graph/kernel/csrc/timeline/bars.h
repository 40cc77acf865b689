/* Calls as bars: the periods in which a call is on the stack of its strand, or suspended, in rows of strand and
 * depth.
 *
 * Invariant: the bars of a row are consecutive and never overlap; if another call takes the place of a suspended
 * call, the bar of the suspended call ends. */
#ifndef CLEW_BARS_H
#define CLEW_BARS_H

#include "memory.h"
#include "trace_format.h"

enum { DEEPEST = 1000 }; /* what is deeper has no bar */

#define ASLEEP 0x80000000u

/* As `bars.BAR` in Python. */
typedef struct {
    int64_t begin, end; /* ns */
    uint32_t key;       /* the site, with ASLEEP where the call is suspended */
    uint32_t what; /* the event that it begins with; of several bars in one, the part of its time that they fill, of 2^32 - 1 */
} Bar;

/* Is it as it was written, so far as that can lead astray? */
static inline bool bar_fits(const Bar *bar, size_t sites) {
    const int64_t far = (int64_t)1 << 60;
    return (bar->key & ~ASLEEP) < sites && bar->begin <= bar->end && bar->begin > -far && bar->end < far;
}

typedef struct {
    uint32_t key, row;
    int64_t since;
} Open;

LIST(Opens, Open)
LIST(Counts, int64_t)

typedef struct {
    Opens stack;
    uint32_t *running;    /* per site: its frames on the stack */
    Open asleep[DEEPEST]; /* per depth */
    bool is_asleep[DEEPEST];
    int64_t deepest; /* no depth from here on has one asleep */
    int64_t *next;   /* per row of this strand: how many bars it has, or where its next one goes */
    Bar *bars;       /* NULL while they are counted */
    int64_t depths;  /* of this strand, so far */
    Counts counts;
    int64_t base; /* of this strand in `counts` */
} BarWalk;

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

/* What is suspended at `depth` or deeper is seen no more. */
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

static void bar_strand(BarWalk *walk, const uint8_t *kind, const uint32_t *site, const int64_t *ts, int64_t start, int64_t stop,
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

/* The times of several calls as one bar: how much of it each has. */
typedef struct {
    int64_t *ns;     /* per key, see `slot`; zero for those that are not among the touched */
    Numbers touched; /* keys, in the order in which they came */
    int64_t sum;
} Mix;

static inline size_t slot(uint32_t key) { return (size_t)(key & ~ASLEEP) * 2 + (key >> 31); }

static inline void mix_add(Mix *mix, uint32_t key, int64_t ns) {
    size_t at = slot(key);
    if (!mix->ns[at]) Numbers_push(&mix->touched, key);
    mix->ns[at] += ns;
    mix->sum += ns;
}

/* The key that has the most, the first of equal ones; and begins anew. */
static uint32_t mix_take(Mix *mix, int64_t *sum) {
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

/* Bars shorter than 2^shift ns that begin in the same 2^shift ns become one, which is shorter than twice that; how many there are
 * then. -1: no memory, or a key that is not there. */
static int64_t coarsen(const Bar *bars, const int64_t *row_start, int64_t rows, int shift, size_t sites, Bar *to,
                       int64_t *to_start) {
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

#endif
