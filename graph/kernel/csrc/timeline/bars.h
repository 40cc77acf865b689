/* Calls as bars: the periods in which a call is on the stack of its strand, or suspended, in rows of strand and
 * depth.
 *
 * Invariant: the bars of a row are consecutive and never overlap; if another call takes the place of a suspended
 * call, the bar of the suspended call ends. */
#ifndef CLEW_BARS_H
#define CLEW_BARS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memory.h"

enum { DEEPEST = 1000 }; /* deeper calls have no bar */

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

void bar_strand(BarWalk *walk, const uint8_t *kind, const uint32_t *site, const int64_t *ts, int64_t start, int64_t stop,
                uint16_t *depths);

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

/* Returns the key with the most time, the first of equal ones, and starts again. */
uint32_t mix_take(Mix *mix, int64_t *sum);

/* Bars shorter than 2^shift ns that begin in the same 2^shift ns become one, which is shorter than twice that; how many there are
 * then. -1: no memory, or a key that is not there. */
int64_t coarsen(const Bar *bars, const int64_t *row_start, int64_t rows, int shift, size_t sites, Bar *to, int64_t *to_start);

#endif
